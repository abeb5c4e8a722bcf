// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

// Package shard answers one question for controllers, gateway and tasks: who owns this session?
//
// Every piece that acts for a session asks before it acts, from the first line of code, so that sharding sessions over
// replicas changes this package and no other (design, "Scale-out"). Until shards exist the owner is the leader.
//
// Values are safe for concurrent use; nothing here blocks.
package shard
