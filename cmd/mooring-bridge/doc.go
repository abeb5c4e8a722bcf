// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mooring-bridge runs beside one stdio MCP server and makes it reachable for the operator, and for nobody else:
//
//	mooring-bridge --listen :7300 --token-file /run/mooring/token --env PATH --env HOME -- npx some-server
//
// It prints the address that it listens on as its first and only line on standard output. Standard error carries its
// events and the command's own standard error. Package bridge says what it does for each connection.
//
//	mooring-bridge --copy-to /mooring/bridge
//
// copies the program there, for an image that has the command but not the bridge.
package main
