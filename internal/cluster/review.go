// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"golang.org/x/sync/singleflight"
	"k8s.io/apimachinery/pkg/util/cache"
)

const (
	// reviewTimeout bounds one question to the API server, the wait for its turn included.
	reviewTimeout = 5 * time.Second
	// maxReviews bounds the questions of a kind that are under way, so that a flood of bad tokens does not become one.
	maxReviews = 16
	// maxWaiting bounds those that wait for their turn or are under way. The next is told at once that it is too much.
	maxWaiting = 1024
	// yesLife and noLife are how long answers are kept. Yes is short, for a revoked right must end soon.
	yesLife = 10 * time.Second
	noLife  = 5 * time.Second
	// maxAnswers bounds the answers that are kept, of either kind: a flood of refusals does not displace good answers.
	maxAnswers = 4096
)

// errBusy is the cause when there is no turn in time.
var errBusy = errors.New("too many reviews are under way")

// ReviewError says that the API server could not be asked, or not in time. Err's text is the API server's: it is for
// errors.As, not for showing.
type ReviewError struct {
	// What was asked: "token", "access" or "session".
	What string
	Err  error
}

// Error implements error.
func (e *ReviewError) Error() string { return "the API server did not answer: " + e.What }

// Unwrap gives the cause.
func (e *ReviewError) Unwrap() error { return e.Err }

// answer is what a review came to.
type answer[T any] struct {
	value T
	yes   bool
	// until bounds how long a yes is kept; zero does not.
	until time.Time
}

// reviewer asks the API server and keeps its answers for a while, by the hash of the question.
type reviewer[T any] struct {
	what           string
	flight         singleflight.Group
	waiting, turns chan struct{}
	yes, no        *cache.LRUExpireCache
}

func newReviewer[T any](what string) *reviewer[T] {
	return &reviewer[T]{
		what: what, waiting: make(chan struct{}, maxWaiting), turns: make(chan struct{}, maxReviews),
		yes: cache.NewLRUExpireCache(maxAnswers), no: cache.NewLRUExpireCache(maxAnswers),
	}
}

// review returns the answer to a question that key identifies. Callers with the same question share one review, which
// goes on when one of them leaves. An error is a *ReviewError, or the context's own.
func (r *reviewer[T]) review(ctx context.Context, key string, ask func(context.Context) (answer[T], error)) (answer[T], error) {
	if a, ok := r.kept(key); ok {
		return a, nil
	}
	flight := r.flight.DoChan(key, func() (any, error) {
		// The one before may have ended between the look at what is kept and now.
		if a, ok := r.kept(key); ok {
			return a, nil
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reviewTimeout)
		defer cancel()
		a, err := r.ask(ctx, ask)
		if err != nil {
			return nil, &ReviewError{What: r.what, Err: err}
		}
		r.keep(key, a)
		return a, nil
	})
	select {
	case result := <-flight:
		if result.Err != nil {
			return answer[T]{}, result.Err
		}
		return result.Val.(answer[T]), nil //nolint:forcetypeassert // the function above returns nothing else
	case <-ctx.Done():
		return answer[T]{}, ctx.Err()
	}
}

// ask waits for a turn and then asks.
func (r *reviewer[T]) ask(ctx context.Context, ask func(context.Context) (answer[T], error)) (answer[T], error) {
	select {
	case r.waiting <- struct{}{}:
		defer func() { <-r.waiting }()
	default:
		return answer[T]{}, errBusy
	}
	select {
	case r.turns <- struct{}{}:
		defer func() { <-r.turns }()
		return ask(ctx)
	case <-ctx.Done():
		return answer[T]{}, errBusy
	}
}

func (r *reviewer[T]) kept(key string) (answer[T], bool) {
	for _, answers := range []*cache.LRUExpireCache{r.yes, r.no} {
		if value, ok := answers.Get(key); ok {
			a, ok := value.(answer[T])
			return a, ok && (a.until.IsZero() || time.Now().Before(a.until))
		}
	}
	return answer[T]{}, false
}

func (r *reviewer[T]) keep(key string, a answer[T]) {
	if !a.yes {
		r.no.Add(key, a, noLife)
		return
	}
	life := yesLife
	if !a.until.IsZero() {
		life = min(life, time.Until(a.until))
	}
	if life > 0 {
		r.yes.Add(key, a, life)
	}
}

// question hashes the parts of a question. Each part goes with its length, so that no two questions are alike.
func question(parts ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, part := range parts {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		_, _ = h.Write(length[:]) // a hash never fails to write
		_, _ = h.Write([]byte(part))
	}
	return string(h.Sum(nil))
}
