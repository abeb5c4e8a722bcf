// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"strings"
	"testing"

	"github.com/mooring-dev/mooring/internal/mcp/sse"
)

// TestMessagesSkipAFewBadEvents counts those that should have been messages; events of another type are no messages.
func TestMessagesSkipAFewBadEvents(t *testing.T) {
	const good = "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"
	for name, tc := range map[string]struct {
		before string
		ok     bool
	}{
		"none":         {"", true},
		"as many":      {strings.Repeat("data: no\n\n", maxBadEvents), true},
		"one more":     {strings.Repeat("data: no\n\n", maxBadEvents+1), false},
		"another type": {strings.Repeat("event: ping\ndata: no\n\n", maxBadEvents+1), true},
	} {
		stream := &messages{events: sse.NewReader(strings.NewReader(tc.before+good), 1024)}
		m, err := stream.next()
		var protocol *ProtocolError
		if tc.ok && (err != nil || m.Method != "x") || !tc.ok && !errors.As(err, &protocol) {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}
