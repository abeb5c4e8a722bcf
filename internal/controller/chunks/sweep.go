// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/mooring-dev/mooring/api/v1alpha1"
)

// Sweeper deletes chunks that no session names. It runs where the controllers run.
type Sweeper struct {
	Store *Store
	// unnamed says since when a chunk has been seen without a session that names it.
	unnamed map[types.UID]time.Time
}

// NeedLeaderElection says that one replica sweeps.
func (w *Sweeper) NeedLeaderElection() bool { return true }

// Start sweeps until ctx ends. A failed sweep is logged and tried again at the next turn.
func (w *Sweeper) Start(ctx context.Context) error {
	ticker := time.NewTicker(max(w.Store.Grace/8, time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := w.Sweep(ctx); err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Error(err, "Sweep of catalog chunks")
			}
		}
	}
}

// Sweep does one turn.
func (w *Sweeper) Sweep(ctx context.Context) error {
	var chunks metav1.PartialObjectMetadataList
	chunks.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	if err := w.Store.Cached.List(ctx, &chunks, client.HasLabels{v1alpha1.LabelCatalogDigest}); err != nil {
		return fmt.Errorf("list chunks: %w", err)
	}
	named, err := w.named(ctx)
	if err != nil {
		return err
	}
	now := time.Now()
	unnamed := make(map[types.UID]time.Time, len(w.unnamed))
	var errs []error
	for i := range chunks.Items {
		chunk := &chunks.Items[i]
		if named[client.ObjectKeyFromObject(chunk)] || chunk.DeletionTimestamp != nil {
			continue
		}
		since, seen := w.unnamed[chunk.UID]
		if !seen {
			since = now
		}
		unnamed[chunk.UID] = since
		if now.Sub(since) < w.Store.Grace || now.Sub(lastNamed(chunk)) < w.Store.Grace {
			continue
		}
		errs = append(errs, w.delete(ctx, chunk))
	}
	w.unnamed = unnamed
	return errors.Join(errs...)
}

func (w *Sweeper) named(ctx context.Context) (map[client.ObjectKey]bool, error) {
	var sessions v1alpha1.McpSessionList
	if err := w.Store.Cached.List(ctx, &sessions); err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	named := map[client.ObjectKey]bool{}
	for i := range sessions.Items {
		for _, chunk := range sessions.Items[i].Status.Catalog.Chunks {
			named[client.ObjectKey{Namespace: sessions.Items[i].Namespace, Name: chunk.ConfigMap}] = true
		}
	}
	return named, nil
}

// delete holds only for the very object that was judged: one that was touched since has another resource version.
func (w *Sweeper) delete(ctx context.Context, chunk *metav1.PartialObjectMetadata) error {
	err := w.Store.Live.Delete(ctx, chunk, client.Preconditions{UID: &chunk.UID, ResourceVersion: &chunk.ResourceVersion})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete chunk %s/%s: %w", chunk.Namespace, chunk.Name, err)
	}
	return nil
}
