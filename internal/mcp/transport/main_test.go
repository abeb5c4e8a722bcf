// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"net"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// mustDial connects over loopback.
func mustDial(t *testing.T, cfg Config) *Conn {
	t.Helper()
	c, err := dial(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dial(t *testing.T, cfg Config) (*Conn, error) {
	t.Helper()
	if cfg.Dialer == nil {
		cfg.Dialer = &net.Dialer{}
	}
	cfg.ClientName, cfg.ClientVersion = "test", "0"
	c, err := Dial(t.Context(), cfg, EraUnknown)
	if err == nil {
		t.Cleanup(c.Abort)
	}
	return c, err
}
