// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hostile holds the runtime to its guards: servers that break, stall, flood and lie, beside one that does not.
//
// Each case is a stage: one Runtime, a session at a server that the case makes hostile, and a session at a healthy server
// that never stops calling it. Whatever the hostile one does, the end of a stage checks that the healthy one was never held
// up or cut off, that memory stayed bounded, and that after Release nothing is left: no goroutine, socket or descriptor.
//
// Stages run one after the other, for memory and descriptors are counted for the whole process. Servers stream from one
// small buffer, so that what is measured is the client's. TestConnectDropCycles runs MOORING_CYCLES cycles for each era,
// 300 by default; with that variable set, the limits of a minute are waited out, too.
package hostile
