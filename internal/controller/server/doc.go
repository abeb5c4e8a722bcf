// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server converges McpServers: it says whether a definition can be acted upon, and how many sessions use it.
//
// A definition holds no connection and so needs no finalizer. The count of sessions follows their status and is refreshed
// at most twice a minute, for a shared server must not be written each time that one of its sessions comes or goes.
package server
