// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/mooring-dev/mooring/internal/mcp/catalog"
	"github.com/mooring-dev/mooring/internal/mcp/content"
	"github.com/mooring-dev/mooring/internal/mcp/transport"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// list is a set of the lists that a server keeps.
type list uint32

const (
	listTools list = 1 << iota
	// listResources is resources and templates: they are had together (CNT-02).
	listResources
	listPrompts
	// listSubscriptions is no list: it brings the subscriptions in step with what is wanted.
	listSubscriptions
)

// lists is what a refresh brought. A nil list was not asked for, or failed.
type lists struct {
	tools                         *catalog.Catalog
	resources, templates, prompts *content.Catalog
	// fresh is for how long the server says that they stay as they are; zero when it says nothing.
	fresh time.Duration
	errs  []error
	// asked and failed say which lists were asked for, and which of those could not be had.
	asked, failed list
}

// show puts into a view what was brought.
func (b *lists) show(v *ServerSnapshot) {
	if b.tools != nil {
		v.Tools = b.tools
	}
	if b.resources != nil {
		v.Resources, v.Templates = b.resources, b.templates
	}
	if b.prompts != nil {
		v.Prompts = b.prompts
	}
}

// err joins what went wrong.
func (b *lists) err() error { return errors.Join(b.errs...) }

// declared is the set of lists that the server says it has (CNT-01, DEV-18).
func (l *live) declared() (which list) {
	info := l.conn.Info()
	for capability, one := range map[string]list{"tools": listTools, "resources": listResources, "prompts": listPrompts} {
		if info.Declares(capability, "") {
			which |= one
		}
	}
	return which
}

// noContent is the list of a server that has none.
var noContent = &content.Catalog{}

// fetchFirst reads every list. Without tools there is no connection; other lists may fail (CON-11).
func (l *live) fetchFirst(ctx context.Context) (lists, error) {
	l.listing.Store(true)
	got := l.fetch(ctx, l.declared())
	if err := got.err(); got.tools == nil && l.declared()&listTools != 0 {
		return got, err
	}
	for _, empty := range []**content.Catalog{&got.resources, &got.templates, &got.prompts} {
		if *empty == nil {
			*empty = noContent
		}
	}
	if got.tools == nil {
		got.tools = catalog.Intern(catalog.NewBuilder().Catalog())
	}
	if err := got.err(); err != nil {
		l.firstError = newFailure(err, nil)
		l.refused(err, ReasonConnection)
	}
	return got, nil
}

// fetch reads lists whole (CAT-10 to CAT-17, CNT-03). The list that fails is left out, and the others are not (CNT-08).
func (l *live) fetch(ctx context.Context, which list) (got lists) {
	limits := l.c.current().Lists
	l.stale.And(^uint32(which))
	got.asked = which
	keep := func(one list, err error) bool {
		if err != nil {
			got.errs, got.failed = append(got.errs, err), got.failed|one
		}
		return err == nil
	}
	if which&listTools != 0 {
		builder := catalog.NewBuilder()
		builder.MaxTools, builder.MaxBytes = limits.MaxTools, min(limits.MaxBytes, catalog.MaxBytes)
		if keep(listTools, l.pages(ctx, wire.MethodToolsList, builder, &got)) {
			got.tools = catalog.Intern(builder.Catalog())
		}
	}
	if which&listResources != 0 {
		resources, templates := l.builder(content.Resources, limits.MaxResources), l.builder(content.ResourceTemplates, limits.MaxTemplates)
		if keep(listResources, l.pages(ctx, wire.MethodResourcesList, resources, &got)) &&
			keep(listResources, l.pages(ctx, wire.MethodTemplatesList, templates, &got)) {
			got.resources, got.templates = content.Intern(resources.Catalog()), content.Intern(templates.Catalog())
		}
	}
	if which&listPrompts != 0 {
		prompts := l.builder(content.Prompts, limits.MaxPrompts)
		if keep(listPrompts, l.pages(ctx, wire.MethodPromptsList, prompts, &got)) {
			got.prompts = content.Intern(prompts.Catalog())
		}
	}
	return got
}

func (l *live) builder(kind content.Kind, entries int) *content.Builder {
	return content.NewBuilder(kind, content.Limits{MaxEntries: entries, MaxBytes: l.c.current().Lists.MaxBytes})
}

// pager reads a list page by page.
type pager interface {
	AddPage(result json.RawMessage) (next string, err error)
}

// pages asks for every page. A server that declares a list and does not know its method has none (DEV-18, DEV-19).
func (l *live) pages(ctx context.Context, method string, into pager, got *lists) error {
	for cursor, first := "", true; first || cursor != ""; first = false {
		var params wire.Object
		if cursor != "" {
			params = wire.Object{{Name: "cursor", Value: wire.Quote(cursor)}}
		}
		raw, err := l.request(ctx, method, params)
		var rpc *wire.Error
		if first && errors.As(err, &rpc) && rpc.Code == wire.CodeMethodNotFound {
			return nil
		}
		if err != nil {
			return err
		}
		if first && l.conn.Info().Era == transport.EraModern {
			got.cache(raw)
		}
		if cursor, err = into.AddPage(raw); err != nil {
			return err
		}
	}
	return nil
}

// maxFresh bounds what a server may say about the life of its lists.
const maxFresh = 24 * time.Hour

// cache notes for how long a result stays good (2026-07-28 "Caching"): the shortest of all counts. Whatever its scope, it
// is kept for this one connection, and so for one authorization.
func (b *lists) cache(raw json.RawMessage) {
	var hint struct {
		TTL *float64 `json:"ttlMs"`
	}
	if json.Unmarshal(raw, &hint) != nil || hint.TTL == nil || !(*hint.TTL > 0) {
		return
	}
	fresh := time.Duration(min(*hint.TTL, float64(maxFresh/time.Millisecond))) * time.Millisecond
	if b.fresh == 0 || fresh < b.fresh {
		b.fresh = fresh
	}
}
