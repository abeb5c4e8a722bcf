// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package result turns a tools/call result into its report: what people, objects and logs may see of it.
//
// The report is bounded and clean and holds no base64 and no _meta (requirements RES, bridge row 1); the wire keeps the
// result as the server sent it and does not pass here. Pure functions over bytes.
package result
