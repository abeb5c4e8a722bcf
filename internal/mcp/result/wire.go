// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mooring-dev/mooring/internal/mcp/clean"
	"github.com/mooring-dev/mooring/internal/mcp/wire"
)

// DefaultInlineBytes is the longest text that is passed on inline, unless the session says otherwise (bridge row 5).
const DefaultInlineBytes = 1 << 20

// ArtifactScheme begins the URI of an artifact; its id follows (bridge row 5).
const ArtifactScheme = "mooring://artifacts/"

// WireOptions say how a result is passed on.
type WireOptions struct {
	// InlineBytes bounds each text that is passed on inline; <= 0 is DefaultInlineBytes.
	InlineBytes int
	// Store takes longer texts; it may be nil.
	Store Store
	// Secrets are taken out of failures, and of what is stored.
	Secrets clean.Secrets
}

// Wired is a result on its way to the agent, with what happened to it.
type Wired struct {
	Result json.RawMessage
	// Replaced counts the parts that became a notice, Linked those that became a preview and a link.
	Replaced, Linked int
}

// Wire passes a result on as it was sent: the same bytes, unless something has to change. A content part that is no
// object, and a text that is too long and cannot be stored, become a notice; a text that is too long and can be stored
// becomes a preview and a link. Of a failure, known secrets are taken out, and its texts together are at most
// clean.WireErrorBytes. isError, structuredContent and everything unknown stay. raw must be what wire.Parse accepted;
// there is no error, because the call has been answered (bridge rows 1, 2, 4 and 5).
func Wire(ctx context.Context, raw json.RawMessage, opts WireOptions) Wired {
	if opts.InlineBytes <= 0 {
		opts.InlineBytes = DefaultInlineBytes
	}
	object, err := wire.ParseObject(raw)
	if err != nil {
		return Wired{Result: contentOnly("[the server's result was no JSON object, and was left out]"), Replaced: 1}
	}
	w := relay{opts: opts, failure: isTrue(object, "isError"), left: clean.WireErrorBytes}
	if w.failure {
		object = w.redact(object)
	}
	if content := object.Get("content"); content != nil {
		if next := w.content(ctx, content); next != nil {
			object, w.changed = object.With("content", next), true
		}
	}
	if !w.changed {
		return Wired{Result: raw}
	}
	return Wired{Result: object.Raw(), Replaced: w.replaced, Linked: w.linked}
}

// relay is the state of one Wire.
type relay struct {
	opts             WireOptions
	failure          bool
	left             int // bytes of failure text that may follow
	changed          bool
	replaced, linked int
}

// redact takes known secrets out of a failure's members, all but the content, whose texts are redacted one by one.
func (w *relay) redact(object wire.Object) wire.Object {
	out := make(wire.Object, len(object))
	copy(out, object)
	for i, m := range out {
		if next, changed := redactJSON(m.Value, w.opts.Secrets); changed {
			out[i].Value, w.changed = next, true
		}
	}
	return out
}

// redactJSON takes secrets out of a JSON value. Names that become the same would make it ambiguous: then nothing of it
// is passed on.
func redactJSON(v json.RawMessage, secrets clean.Secrets) (json.RawMessage, bool) {
	next := json.RawMessage(secrets.Redact(v))
	if len(next) == len(v) && string(next) == string(v) {
		return v, false
	}
	probe := wire.Object{{Name: "v", Value: next}}.Raw()
	if _, err := wire.ParseObject(probe); err != nil {
		return wire.Quote("[redacted]"), true
	}
	return next, true
}

// content returns what takes the place of a content array, or nil when nothing has to.
func (w *relay) content(ctx context.Context, raw json.RawMessage) json.RawMessage {
	var parts []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &parts) != nil {
		w.replaced++
		return array([]json.RawMessage{textPart("[the result's content was no list, and was left out]")})
	}
	out, changed := make([]json.RawMessage, 0, len(parts)), false
	for _, part := range parts {
		next := w.part(ctx, part)
		if next == nil {
			out = append(out, part)
			continue
		}
		out, changed = append(out, next...), true
	}
	if !changed {
		return nil
	}
	return array(out)
}

// part returns what takes the place of a part, or nil when nothing has to.
func (w *relay) part(ctx context.Context, raw json.RawMessage) []json.RawMessage {
	part, err := wire.ParseObject(raw)
	if err != nil {
		w.replaced++
		return []json.RawMessage{textPart("[a part of the result was no JSON object, and was left out]")}
	}
	switch kind, _ := part.String("type"); kind {
	case "text":
		text, ok := part.String("text")
		if !ok {
			return nil
		}
		return w.text(ctx, part, text)
	case KindResource:
		resource, err := wire.ParseObject(part.Get("resource"))
		if err != nil {
			return nil
		}
		if text, ok := resource.String("text"); ok && len(text) > w.opts.InlineBytes {
			mimeType, _ := resource.String("mimeType")
			return w.long(ctx, wire.Object{{Name: "type", Value: wire.Quote("text")}}, text, mimeType)
		}
	}
	return nil
}

func (w *relay) text(ctx context.Context, part wire.Object, text string) []json.RawMessage {
	shown := text
	if w.failure {
		shown = beginning(w.opts.Secrets.RedactString(text), w.left)
		w.left -= len(shown)
	}
	if len(shown) > w.opts.InlineBytes {
		return w.long(ctx, part, shown, "text/plain")
	}
	if shown == text {
		return nil
	}
	return []json.RawMessage{part.With("text", wire.Quote(shown)).Raw()}
}

// long returns a preview of text and a link to it, or a preview that says that there is no more.
func (w *relay) long(ctx context.Context, part wire.Object, text, mimeType string) []json.RawMessage {
	text = w.opts.Secrets.RedactString(text)
	shown := beginning(text, w.opts.InlineBytes)
	if len(text) > HeadBytes+TailBytes {
		head, tail := ends(text)
		shown = head + gap + tail
	}
	digest := sha256.Sum256([]byte(text))
	id := hex.EncodeToString(digest[:])
	if !put(ctx, w.opts.Store, id, []byte(text), mimeType) {
		w.replaced++
		note := fmt.Sprintf("[%d bytes of text, of which a part is shown; the rest could not be kept]\n\n", len(text))
		return []json.RawMessage{part.With("text", wire.Quote(note+shown)).Raw()}
	}
	w.linked++
	note := fmt.Sprintf("[%d bytes of text, of which a part is shown; the whole is %s%s]\n\n", len(text), ArtifactScheme, id)
	link := wire.Object{
		{Name: "type", Value: wire.Quote("resource_link")},
		{Name: "uri", Value: wire.Quote(ArtifactScheme + id)},
		{Name: "name", Value: wire.Quote(id)},
		{Name: "mimeType", Value: wire.Quote(mimeType)},
		{Name: "size", Value: strconv.AppendInt(nil, int64(len(text)), 10)},
	}
	if mimeType == "" {
		link = link.Without("mimeType")
	}
	return []json.RawMessage{part.With("text", wire.Quote(note+shown)).Raw(), link.Raw()}
}

func textPart(text string) json.RawMessage {
	return wire.Object{{Name: "type", Value: wire.Quote("text")}, {Name: "text", Value: wire.Quote(text)}}.Raw()
}

func contentOnly(text string) json.RawMessage {
	return wire.Object{{Name: "content", Value: array([]json.RawMessage{textPart(text)})}}.Raw()
}

func array(parts []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, part := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, part...)
	}
	return append(out, ']')
}
