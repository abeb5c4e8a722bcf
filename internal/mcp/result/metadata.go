// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// Kinds of artifacts (RES-11).
const (
	KindText     = "text"
	KindImage    = "image"
	KindAudio    = "audio"
	KindResource = "resource"
)

// Metadata is all that a report says beside its text (RES-11).
type Metadata struct {
	// IsError says that the tool reported a failure of its own.
	IsError bool `json:"isError"`
	// ContentCount counts parts, <= MaxParts; TextBytes and StructuredBytes are as the server sent them, <= 4 MiB each.
	ContentCount    int `json:"contentCount"`
	TextBytes       int `json:"textBytes"`
	StructuredBytes int `json:"structuredBytes"`
	ArtifactCount   int `json:"artifactCount"`
	// Truncated says that the text was cut.
	Truncated bool `json:"truncated"`
	// BinaryOmitted says that there were binaries, which no text shows.
	BinaryOmitted bool       `json:"binaryOmitted"`
	Artifacts     []Artifact `json:"artifacts"`
}

// Artifact describes bytes that a report leaves out. There is no path: every reader is remote (RES-26, bridge row 5).
type Artifact struct {
	// ID and SHA256 are the same 64 hexadecimal digits, and Size counts bytes: all three are of the bytes, whatever
	// became of them (RES-13).
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// Persisted says that the bytes can be read from the session's store.
	Persisted bool   `json:"persisted"`
	MimeType  string `json:"mimeType,omitempty"`
	SourceURI string `json:"sourceUri,omitempty"`
}

// maxArtifactBytes bounds what an artifact may claim to be: what a session may store (RES-24, RES-30).
const maxArtifactBytes = 64 << 20

// AllowList rebuilds metadata that comes from elsewhere, such as an older release, for a surface: what Metadata does not
// have, or what breaks its bounds, is left out (RES-30). The result is nil unless raw is an object.
func AllowList(raw json.RawMessage) *Metadata {
	if len(raw) > wire.MaxMessageBytes {
		return nil
	}
	o, err := wire.ParseObject(raw)
	if err != nil {
		return nil
	}
	m := &Metadata{
		IsError: isTrue(o, "isError"), Truncated: isTrue(o, "truncated"), BinaryOmitted: isTrue(o, "binaryOmitted"),
		ContentCount: int(count(o, "contentCount", MaxParts)), ArtifactCount: int(count(o, "artifactCount", MaxParts)),
		TextBytes: int(count(o, "textBytes", MaxTextsBytes)), StructuredBytes: int(count(o, "structuredBytes", MaxStructuredBytes)),
		Artifacts: []Artifact{},
	}
	var artifacts []json.RawMessage
	_ = json.Unmarshal(o.Get("artifacts"), &artifacts) // anything but an array holds none
	for _, raw := range artifacts {
		if a, ok := allowArtifact(raw); ok && len(m.Artifacts) < MaxParts {
			m.Artifacts = append(m.Artifacts, a)
		}
	}
	return m
}

func allowArtifact(raw json.RawMessage) (a Artifact, ok bool) {
	o, err := wire.ParseObject(raw)
	if err != nil {
		return a, false
	}
	a.ID, _ = o.String("id")
	a.SHA256, _ = o.String("sha256")
	a.Kind, _ = o.String("kind")
	a.Size = count(o, "size", maxArtifactBytes)
	a.Persisted = isTrue(o, "persisted")
	switch {
	case a.ID != a.SHA256, !isDigest(a.ID), a.Size == 0 && string(o.Get("size")) != "0":
		return a, false
	case !a.Persisted && string(o.Get("persisted")) != "false":
		return a, false
	case a.Kind != KindText && a.Kind != KindImage && a.Kind != KindAudio && a.Kind != KindResource:
		return a, false
	}
	mimeType, _ := o.String("mimeType")
	uri, _ := o.String("sourceUri")
	a.MimeType, a.SourceURI = oneLine(cutRunes(mimeType, maxNameRunes)), oneLine(cutRunes(uri, maxURIRunes))
	return a, true
}

// isTrue takes nothing but the literal for true.
func isTrue(o wire.Object, name string) bool { return string(o.Get(name)) == "true" }

// count returns an integer within 0 and limit, or 0.
func count(o wire.Object, name string, limit int64) int64 {
	var f float64
	v := o.Get(name)
	if len(v) == 0 || json.Unmarshal(v, &f) != nil || f != math.Trunc(f) || f < 0 || f > float64(limit) {
		return 0
	}
	return int64(f)
}

// isDigest reports whether s is a SHA-256 in small hexadecimal digits.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

func oneLine(s string) string { return clean.Text(s, len(s)) }

// cutRunes returns the first n code points of s.
func cutRunes(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
