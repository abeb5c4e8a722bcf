// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package task

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/types"

	"github.com/mooring-dev/mooring/internal/mcp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// caller is a fake server: it counts calls, and answers when it is told to, or when the call's context ends.
type caller struct {
	mu     sync.Mutex
	calls  []mcp.CallRequest
	answer chan struct{}
}

func (c *caller) Call(ctx context.Context, _ mcp.SessionID, request mcp.CallRequest) (*mcp.CallResult, error) {
	c.mu.Lock()
	c.calls = append(c.calls, request)
	c.mu.Unlock()
	select {
	case <-c.answer:
		return &mcp.CallResult{Result: json.RawMessage(`{"content":[]}`)}, nil
	case <-ctx.Done():
		return nil, &mcp.CallError{Reason: mcp.CallAborted, Sent: true, Err: context.Cause(ctx)}
	}
}

func (c *caller) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// executing runs an Executor in a bubble of fake time, and its end.
func executing(t *testing.T, test func(t *testing.T, e *Executor, c *caller, notified *[]types.UID)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var notified []types.UID
		c := &caller{answer: make(chan struct{}, 8)}
		e := NewExecutor(c, func(uid types.UID) { notified = append(notified, uid) })
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- e.Start(ctx) }()
		test(t, e, c, &notified)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

const uid, session = types.UID("task"), mcp.SessionID("session")

func inAnHour() time.Time { return time.Now().Add(time.Hour) }

func TestLaunchOnce(t *testing.T) {
	executing(t, func(t *testing.T, e *Executor, c *caller, notified *[]types.UID) {
		e.Launch(uid, session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		if c.count() != 0 {
			t.Fatal("a call without a record was sent")
		}
		fence := e.Prepare(uid)
		for range 3 {
			e.Launch(uid, session, mcp.CallRequest{Tool: "t"}, inAnHour())
			synctest.Wait()
		}
		if e.outcomeOf(uid) != nil || len(*notified) != 0 {
			t.Error("an outcome while the call runs")
		}
		c.answer <- struct{}{}
		synctest.Wait()
		e.Launch(uid, session, mcp.CallRequest{Tool: "t"}, inAnHour())
		synctest.Wait()
		if c.count() != 1 || c.calls[0].Tool != "t" {
			t.Errorf("sent %d times", c.count())
		}
		if o := e.outcomeOf(uid); o == nil || o.err != nil || o.cause != nil || len(*notified) != 1 {
			t.Errorf("outcome %+v, notified %v", o, *notified)
		}
		if !e.Holds(uid, e.Holder, fence) {
			t.Error("the answer is not ours before it is written down")
		}
		e.Forget(uid)
		e.Launch(uid, session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		if c.count() != 1 || e.outcomeOf(uid) != nil || e.Holds(uid, e.Holder, fence) {
			t.Error("a task that was forgotten is known, or sent again")
		}
	})
}

// A fence is one task's, and reserved once: neither a write that landed although its answer was lost, nor a stale read,
// loses the entry of the call.
func TestFence(t *testing.T) {
	executing(t, func(t *testing.T, e *Executor, c *caller, _ *[]types.UID) {
		fence := e.Prepare(uid)
		if again := e.Prepare(uid); again != fence {
			t.Errorf("fence %d, then %d", fence, again)
		}
		if other := e.Prepare("other"); other == fence {
			t.Error("two tasks with one fence")
		}
		e.Launch(uid, session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		e.Prepare(uid)
		e.Launch(uid, session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		if c.count() != 1 {
			t.Errorf("sent %d times", c.count())
		}
		for name, held := range map[string]bool{
			"the record":        e.Holds(uid, e.Holder, fence),
			"another fence":     !e.Holds(uid, e.Holder, fence+7),
			"another process":   !e.Holds(uid, "another", fence),
			"another task":      !e.Holds("unheard-of", e.Holder, fence),
			"a process's start": !NewExecutor(c, func(types.UID) {}).Holds(uid, e.Holder, fence),
		} {
			if !held {
				t.Errorf("%s: wrong", name)
			}
		}
		e.Forget(uid)
		if again := e.Prepare(uid); again <= fence {
			t.Errorf("fence %d was given again", again)
		}
	})
}

func TestCancel(t *testing.T) {
	executing(t, func(t *testing.T, e *Executor, c *caller, notified *[]types.UID) {
		e.Prepare("unsent")
		if e.Cancel("unknown", errCancelRequested) || e.Cancel("unsent", errCancelRequested) {
			t.Error("what was not sent cannot be ended")
		}
		e.Launch("unsent", session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		if c.count() != 0 {
			t.Error("sent after it was cancelled")
		}
		e.Prepare(uid)
		e.Launch(uid, session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		if !e.Cancel(uid, errCancelRequested) {
			t.Error("a call under way was not cancelled")
		}
		e.Cancel(uid, errTaskDeleted)
		synctest.Wait()
		if o := e.outcomeOf(uid); o == nil || !errors.Is(o.cause, errCancelRequested) || len(*notified) != 1 {
			t.Errorf("outcome %+v", o)
		}
		e.Prepare("deleted")
		e.Launch("deleted", session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		e.Forget("deleted")
		synctest.Wait()
		if c.count() != 2 || len(*notified) != 2 {
			t.Error("a task that is gone keeps its call")
		}
	})
}

func TestLifetime(t *testing.T) {
	executing(t, func(t *testing.T, e *Executor, _ *caller, _ *[]types.UID) {
		e.Prepare(uid)
		e.Launch(uid, session, mcp.CallRequest{}, time.Now().Add(10*time.Second))
		time.Sleep(9 * time.Second)
		synctest.Wait()
		if e.outcomeOf(uid) != nil {
			t.Error("ended before its time")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if o := e.outcomeOf(uid); o == nil || !errors.Is(o.cause, errLifetime) {
			t.Errorf("outcome %+v", o)
		}
	})
}

// The process's end ends what runs, and nothing begins after it.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &caller{}
		e := NewExecutor(c, func(types.UID) {})
		e.Prepare(uid)
		e.Launch(uid, session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := e.Start(ctx); err != nil {
			t.Error(err)
		}
		if o := e.outcomeOf(uid); o == nil || o.err == nil || errors.Is(o.cause, errCancelRequested) {
			t.Errorf("outcome %+v", o)
		}
		e.Prepare("late")
		e.Launch("late", session, mcp.CallRequest{}, inAnHour())
		synctest.Wait()
		if c.count() != 1 {
			t.Error("a call began after the end")
		}
	})
}
