// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/internal/mcp"
)

// Caller makes tool calls. *mcp.Runtime is one.
type Caller interface {
	Call(ctx context.Context, id mcp.SessionID, request mcp.CallRequest) (*mcp.CallResult, error)
}

// Why a running call was cancelled; the causes of its context's end.
var (
	errCancelRequested = errors.New("spec.cancel is Requested")
	errTaskDeleted     = errors.New("the task is deleted")
	errLifetime        = errors.New("the task's lifetime is over")
)

// Executor runs calls outside Reconcile.
type Executor struct {
	// Holder names this process in write-ahead records. Another process never has the same.
	Holder string

	caller Caller
	notify func(types.UID)
	// base ends with the process. A call outlives the reconcile that starts it.
	base context.Context //nolint:containedctx // the lifetime of calls, not of the Executor's caller
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu      sync.Mutex
	entries map[types.UID]*entry
	fence   int64
}

// entry is what this process knows of one task's call.
type entry struct {
	fence   int64
	started bool
	cancel  context.CancelCauseFunc
	outcome *outcome
}

// outcome is how a call ended.
type outcome struct {
	result *mcp.CallResult
	err    error
	// cause is why we ended it, or nil.
	cause error
	at    time.Time
}

// NewExecutor returns an Executor that calls through caller and tells notify when a call has ended.
func NewExecutor(caller Caller, notify func(types.UID)) *Executor {
	base, stop := context.WithCancel(context.Background())
	return &Executor{
		Holder: uuid.NewString(), caller: caller, notify: notify, base: base, stop: stop, entries: map[types.UID]*entry{},
	}
}

// Start waits for the end of ctx and then ends what runs. It makes the Executor a manager's Runnable.
func (e *Executor) Start(ctx context.Context) error {
	<-ctx.Done()
	e.mu.Lock()
	e.stop() // under the lock: a call that begins has begun before the wait, or not at all
	e.mu.Unlock()
	e.wg.Wait()
	return nil
}

// Prepare reserves a fence for the task, once: a write of the record that landed although its answer was lost is still
// ours, and a stale read does not take a running call's entry away. It is written down before Launch may use it.
func (e *Executor) Prepare(uid types.UID) int64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.entries[uid]; entry != nil {
		return entry.fence
	}
	e.fence++
	e.entries[uid] = &entry{fence: e.fence}
	return e.fence
}

// Holds reports whether this process prepared the fence and knows what became of it.
func (e *Executor) Holds(uid types.UID, holder string, fence int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	entry := e.entries[uid]
	return entry != nil && holder == e.Holder && entry.fence == fence
}

// Launch makes the call, once for each prepared fence, whatever is asked twice.
func (e *Executor) Launch(uid types.UID, id mcp.SessionID, request mcp.CallRequest, deadline time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	entry := e.entries[uid]
	if entry == nil || entry.started || e.base.Err() != nil {
		return
	}
	entry.started = true
	ctx, cancel := context.WithCancelCause(e.base)
	entry.cancel = cancel
	e.wg.Go(func() {
		defer cancel(nil)
		ctx, stop := context.WithDeadlineCause(ctx, deadline, errLifetime)
		defer stop()
		result, err := e.caller.Call(ctx, id, request)
		e.finish(uid, entry, &outcome{result: result, err: err, cause: context.Cause(ctx), at: time.Now()})
	})
}

func (e *Executor) finish(uid types.UID, entry *entry, o *outcome) {
	e.mu.Lock()
	entry.outcome = o
	e.mu.Unlock()
	e.notify(uid)
}

// outcomeOf returns how the task's call ended, or nil while it has not.
func (e *Executor) outcomeOf(uid types.UID) *outcome {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.entries[uid]; entry != nil {
		return entry.outcome
	}
	return nil
}

// Cancel ends the task's call and reports true. It reports false for a call that was not sent, and now never will be.
func (e *Executor) Cancel(uid types.UID, cause error) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	entry := e.entries[uid]
	if entry == nil || entry.cancel == nil {
		if entry != nil {
			entry.started = true // Launch finds it taken
		}
		return false
	}
	entry.cancel(cause)
	return true
}

// Forget drops what is known of a task that was seen terminal or gone.
func (e *Executor) Forget(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if entry := e.entries[uid]; entry != nil && entry.cancel != nil {
		entry.cancel(errTaskDeleted)
	}
	delete(e.entries, uid)
}
