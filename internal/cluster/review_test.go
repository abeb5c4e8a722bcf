// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// api is an API server that only reviews. Anything else panics.
type api struct {
	client.Client
	t      *testing.T
	review func(ctx context.Context, object client.Object) error
	asked  int
}

func (a *api) Create(ctx context.Context, object client.Object, opts ...client.CreateOption) error {
	if !(&client.CreateOptions{}).ApplyOptions(opts).DisableReadYourWritesConsistency {
		a.t.Error("a review must not start an informer of reviews")
	}
	deadline, ok := ctx.Deadline()
	if !ok || time.Until(deadline) > reviewTimeout {
		a.t.Errorf("a review must be bounded by %s", reviewTimeout)
	}
	a.asked++
	return a.review(ctx, object)
}

func yes(context.Context) (answer[int], error) { return answer[int]{value: 7, yes: true}, nil }

func TestAnswersAreKept(t *testing.T) {
	errAPI := errors.New("API")
	for name, c := range map[string]struct {
		answer answer[int]
		err    error
		// kept is how long the answer lasts.
		kept time.Duration
	}{
		"yes":                     {answer: answer[int]{value: 7, yes: true}, kept: yesLife},
		"yes, for less than that": {answer: answer[int]{yes: true, until: time.Unix(946684803, 0)}, kept: 3 * time.Second},
		"yes, for more than that": {answer: answer[int]{yes: true, until: time.Unix(946684899, 0)}, kept: yesLife},
		"yes, no longer":          {answer: answer[int]{yes: true, until: time.Unix(946684800, 0)}},
		"no":                      {kept: noLife},
		"an error":                {err: errAPI},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // it begins at 2000-01-01, 946684800
				r, asked := newReviewer[int]("token"), 0
				ask := func() {
					t.Helper()
					got, err := r.review(t.Context(), "key", func(context.Context) (answer[int], error) {
						asked++
						return c.answer, c.err
					})
					if got != c.answer || !errors.Is(err, c.err) {
						t.Errorf("want %v, %v, got %v, %v", c.answer, c.err, got, err)
					}
				}
				ask()
				if c.kept > 0 {
					time.Sleep(c.kept - time.Millisecond)
					ask()
					if asked != 1 {
						t.Errorf("asked %d times before it was over", asked)
					}
					time.Sleep(2 * time.Millisecond)
				}
				ask()
				if asked != 2 {
					t.Errorf("want it asked twice, got %d", asked)
				}
				if _, err := r.review(t.Context(), "other", yes); err != nil {
					t.Errorf("another question: %v", err)
				}
			})
		})
	}
}

// TestOneReviewForAll asks the same question many times at once; the first asker leaves.
func TestOneReviewForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, asked := newReviewer[int]("token"), 0
		slow := func(ctx context.Context) (answer[int], error) {
			asked++
			time.Sleep(time.Second)
			return yes(ctx)
		}
		impatient, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := r.review(impatient, "key", slow)
			left <- err
		}()
		synctest.Wait()
		answers := make(chan answer[int])
		for range 50 {
			go func() {
				a, err := r.review(t.Context(), "key", slow)
				if err != nil {
					t.Error(err)
				}
				answers <- a
			}()
		}
		synctest.Wait()
		leave()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("the first asker: want its context's error, got %v", err)
		}
		for range 50 {
			if a := <-answers; a.value != 7 {
				t.Errorf("got %v", a)
			}
		}
		if asked != 1 {
			t.Errorf("want one review, got %d", asked)
		}
	})
}

// TestFlood asks more different questions than may be asked, of an API server that does not answer.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, under := newReviewer[int]("token"), make(chan struct{}, 1<<20)
		results := make(chan error)
		start := time.Now()
		for i := range maxWaiting + 100 {
			go func() {
				_, err := r.review(t.Context(), fmt.Sprint(i), func(ctx context.Context) (answer[int], error) {
					under <- struct{}{}
					defer func() { <-under }()
					<-ctx.Done()
					return answer[int]{}, ctx.Err()
				})
				results <- err
			}()
		}
		synctest.Wait()
		most := len(under)
		atOnce := 0
		for range maxWaiting + 100 {
			err := <-results
			var review *ReviewError
			if !errors.As(err, &review) || err.Error() != "the API server did not answer: token" {
				t.Fatalf("want a *ReviewError, got %v", err)
			}
			if time.Since(start) == 0 {
				atOnce++
			}
		}
		if most != maxReviews || atOnce != 100 || time.Since(start) != reviewTimeout {
			t.Errorf("%d under way, %d refused at once, %s in all", most, atOnce, time.Since(start))
		}
		if got, err := r.review(t.Context(), "later", yes); err != nil || got.value != 7 {
			t.Errorf("after the flood: %v, %v", got, err)
		}
	})
}

// TestRefusalsDoNotDisplace fills what is kept of refusals.
func TestRefusalsDoNotDisplace(t *testing.T) {
	r := newReviewer[int]("token")
	if _, err := r.review(t.Context(), "good", yes); err != nil {
		t.Fatal(err)
	}
	for i := range maxAnswers + 1 {
		r.keep(fmt.Sprint(i), answer[int]{})
	}
	if a, ok := r.kept("good"); !ok || a.value != 7 {
		t.Error("the good answer is lost")
	}
	if _, ok := r.kept("0"); ok {
		t.Error("want the oldest refusal forgotten")
	}
}

func TestQuestion(t *testing.T) {
	seen := map[string][]string{}
	for _, parts := range [][]string{{}, {""}, {"", ""}, {"ab"}, {"a", "b"}, {"", "ab"}, {"ab", ""}, {"a", "", "b"}} {
		key := question(parts...)
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q are one question", parts, other)
		}
		seen[key] = parts
		if len(key) != 32 {
			t.Errorf("want a hash, got %d bytes", len(key))
		}
	}
}
