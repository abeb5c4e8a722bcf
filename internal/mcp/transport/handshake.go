// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/mooring-dev/mooring/internal/mcp/instructions"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Dial connects to the server of cfg. When the era is left open and known is EraLegacy, the probe for the modern era is
// left out: some legacy servers spend a session on it.
func Dial(ctx context.Context, cfg Config, known Era) (*Conn, error) {
	c, err := dialOnce(ctx, cfg, known)
	if err != nil && cfg.Kind == KindStdio && cfg.Era == EraUnknown && known != EraLegacy && diedOfProbe(err) {
		return dialOnce(ctx, cfg, EraLegacy)
	}
	return c, err
}

// diedOfProbe reports whether a process ended before it had answered anything. Some legacy servers do that when the first
// message is not initialize; one more process shows whether this is one of them.
func diedOfProbe(err error) bool {
	var exit *ExitError
	return errors.As(err, &exit) && exit.Reason == reasonExited
}

func dialOnce(ctx context.Context, cfg Config, known Era) (*Conn, error) {
	c, err := newConn(cfg)
	if err != nil {
		return nil, err
	}
	if err = c.carrier.open(ctx); err == nil {
		err = c.handshake(ctx, known)
	}
	if err != nil {
		c.giveUp()
		return nil, err
	}
	return c, nil
}

// giveUp ends what a failed handshake began: a server that named a session is told that it is not wanted (DEV-55).
func (c *Conn) giveUp() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), endTimeout, &TimeoutError{Phase: "closing", Limit: endTimeout})
	defer cancel()
	if c.cfg.Kind == KindHTTP {
		_ = c.carrier.end(ctx)
	}
	c.Abort()
}

func (c *Conn) handshake(ctx context.Context, known Era) error {
	switch {
	case c.cfg.Kind == KindSSE && c.cfg.Era == EraModern:
		return &ConfigError{What: "HTTP with SSE has no modern era"}
	case c.cfg.Era == EraLegacy, c.cfg.Kind == KindSSE, c.cfg.Era == EraUnknown && known == EraLegacy:
		return c.initialize(ctx)
	}
	modern, err := c.probe(ctx)
	if err != nil || modern {
		return err
	}
	if c.cfg.Era == EraModern {
		return &VersionError{}
	}
	return c.initialize(ctx)
}

// clientInfo is how this client names itself.
func (c *Conn) clientInfo() json.RawMessage {
	return wire.Object{
		{Name: "name", Value: wire.Quote(c.cfg.ClientName)}, {Name: "version", Value: wire.Quote(c.cfg.ClientVersion)},
	}.Raw()
}

// probe asks the server for itself in the modern era, and reports false for a server that proved to be legacy.
func (c *Conn) probe(ctx context.Context) (bool, error) {
	c.enterModern()
	for try := 1; ; try++ {
		found, err := c.discoverSoon(ctx)
		if err == nil {
			return c.choose(found)
		}
		if ctx.Err() != nil {
			return false, err
		}
		again, legacy, err := c.judge(err)
		if err == nil && again && try == 1 {
			continue
		}
		if err == nil && again {
			err = &ProtocolError{What: "the server refuses the version that it says it supports"}
		}
		if legacy {
			c.leaveModern()
		}
		return false, err
	}
}

func (c *Conn) enterModern() {
	c.info = Info{Era: EraModern, ProtocolVersion: wire.Version20260728}
	c.version = wire.Version20260728
	c.meta = []wire.Member{
		{Name: wire.MetaProtocolVersion, Value: wire.Quote(c.version)},
		{Name: wire.MetaClientInfo, Value: c.clientInfo()},
		{Name: wire.MetaClientCapabilities, Value: c.cfg.capabilities()},
	}
}

func (c *Conn) leaveModern() { c.info, c.version, c.meta = Info{}, "", nil }

// discovery is a discover result.
type discovery struct {
	versions []string
	info     Info
}

// errNoDiscovery says that a result is none that a modern server gives.
var errNoDiscovery = errors.New("not a discover result")

func (c *Conn) discoverSoon(ctx context.Context) (*discovery, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, discoverTimeout,
		&TimeoutError{Phase: wire.MethodDiscover, Limit: discoverTimeout})
	defer cancel()
	return c.discover(ctx)
}

func (c *Conn) discover(ctx context.Context) (*discovery, error) {
	raw, err := c.Do(ctx, &Request{Method: wire.MethodDiscover})
	if err != nil {
		return nil, err
	}
	return readDiscovery(raw)
}

func readDiscovery(raw json.RawMessage) (*discovery, error) {
	if len(raw) > maxHandshake {
		return nil, &ProtocolError{What: "the discover result is too large"}
	}
	result, err := wire.ParseObject(raw)
	if err != nil {
		return nil, errNoDiscovery
	}
	found := &discovery{}
	if json.Unmarshal(orNull(result.Get("supportedVersions")), &found.versions) != nil || found.versions == nil {
		return nil, errNoDiscovery
	}
	if found.info, err = describe(result); err != nil {
		return nil, err
	}
	if meta, err := wire.ParseObject(orEmpty(result.Get("_meta"))); err == nil {
		if info, err := wire.ParseObject(meta.Get(wire.MetaServerInfo)); err == nil {
			found.info.ServerInfo = info
		}
	}
	return found, nil
}

func orNull(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage("null")
	}
	return v
}

// describe reads what initialize and discover results have in common. Instructions that are no text fail the attempt
// (INS-01).
func describe(result wire.Object) (info Info, err error) {
	if object, err := wire.ParseObject(result.Get("capabilities")); err == nil {
		info.Capabilities = object
	}
	if object, err := wire.ParseObject(result.Get("serverInfo")); err == nil {
		info.ServerInfo = object
	}
	if info.Instructions, err = instructions.Source(result.Get("instructions")); err != nil {
		return Info{}, &ProtocolError{What: "the instructions are no string"}
	}
	return info, nil
}

// choose takes a version that both sides speak.
func (c *Conn) choose(found *discovery) (bool, error) {
	if slices.Contains(found.versions, wire.Version20260728) {
		found.info.Era, found.info.ProtocolVersion = EraModern, c.version
		c.info = found.info
		c.ready.Store(true)
		return true, nil
	}
	c.leaveModern()
	if speaksLegacy(found.versions) {
		return false, nil // its own word, not a guess
	}
	return false, &VersionError{}
}

func speaksLegacy(versions []string) bool {
	return slices.ContainsFunc(wire.LegacyVersions(), func(v string) bool { return slices.Contains(versions, v) })
}

// judge says what a failed probe means: worth another try, a legacy server, or a failure.
func (c *Conn) judge(cause error) (again, legacy bool, err error) {
	if errors.Is(cause, errNoDiscovery) {
		return false, true, nil
	}
	var rpc *wire.Error
	if errors.As(cause, &rpc) && rpc.Code == wire.CodeUnsupportedVersion {
		return judgeVersions(rpc)
	}
	if c.cfg.Kind == KindStdio {
		legacy = provesLegacy(cause, rpc)
	} else {
		legacy = !passing(cause, rpc)
	}
	if legacy {
		return false, true, nil
	}
	return false, false, cause
}

// provesLegacy reports whether a process proved to be legacy: any error that a modern server would not give does that,
// and so does silence, for there is nothing between it and us (protocol D2).
func provesLegacy(cause error, rpc *wire.Error) bool {
	if rpc != nil {
		return rpc.Code != wire.CodeHeaderMismatch && rpc.Code != wire.CodeMissingCapability
	}
	var timeout *TimeoutError
	return errors.As(cause, &timeout) && timeout.Phase == wire.MethodDiscover
}

func judgeVersions(rpc *wire.Error) (again, legacy bool, err error) {
	var data struct {
		Supported []string `json:"supported"`
	}
	_ = json.Unmarshal(orNull(rpc.Data), &data) // what does not parse supports nothing
	switch {
	case slices.Contains(data.Supported, wire.Version20260728):
		return true, false, nil
	case speaksLegacy(data.Supported):
		return false, true, nil
	}
	return false, false, &VersionError{}
}

// passing reports whether a failed probe says nothing about the era. What is left is an answer of its own accord: a 4xx,
// or a JSON-RPC error, that a modern server does not give to server/discover, which it must implement.
func passing(cause error, rpc *wire.Error) bool {
	if rpc != nil && (rpc.Code == wire.CodeHeaderMismatch || rpc.Code == wire.CodeMissingCapability) {
		return true // a modern server
	}
	var status *StatusError
	if errors.As(cause, &status) {
		return status.Status >= 500 || slices.Contains(passingStatus, status.Status)
	}
	return rpc == nil || rpc.Code == wire.CodeInternal
}

// passingStatus are the 4xx that speak of the moment, of the caller or of a proxy, and not of the server's era.
var passingStatus = []int{
	http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired,
	http.StatusRequestTimeout, http.StatusMisdirectedRequest, http.StatusLocked, http.StatusTooEarly,
	http.StatusTooManyRequests, http.StatusUnavailableForLegalReasons,
}

// initialize opens a legacy session.
func (c *Conn) initialize(ctx context.Context) error {
	c.info.Era = EraLegacy
	c.legacy.Store(true)
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout,
		&TimeoutError{Phase: wire.MethodInitialize, Limit: requestTimeout})
	defer cancel()
	raw, err := c.Do(ctx, &Request{Method: wire.MethodInitialize, Params: wire.Object{
		{Name: "protocolVersion", Value: wire.Quote(wire.LegacyVersions()[0])},
		{Name: "capabilities", Value: c.cfg.capabilities()},
		{Name: "clientInfo", Value: c.clientInfo()},
	}})
	if err != nil {
		return initializeFailure(err)
	}
	if len(raw) > maxHandshake {
		return &ProtocolError{What: "the initialize result is too large"}
	}
	result, err := wire.ParseObject(raw)
	if err != nil {
		return &ProtocolError{What: "the initialize result is no object"}
	}
	version, _ := result.String("protocolVersion")
	if !slices.Contains(wire.LegacyVersions(), version) {
		return &VersionError{}
	}
	if c.info, err = describe(result); err != nil {
		return err
	}
	c.info.Era, c.info.ProtocolVersion = EraLegacy, version
	c.version = version
	c.ready.Store(true) // what comes next may make the server ask
	return c.carrier.post(ctx, &wire.Message{Method: wire.MethodInitialized})
}

func initializeFailure(err error) error {
	var rpc *wire.Error
	if errors.As(err, &rpc) && rpc.Code == wire.CodeUnsupportedVersion {
		return &VersionError{}
	}
	return err
}
