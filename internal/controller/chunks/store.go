// Copyright The Mooring Authors.
// SPDX-License-Identifier: Apache-2.0

package chunks

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mooring-dev/mooring/api/v1alpha1"
	"github.com/mooring-dev/mooring/internal/mcp/catalog"
)

// key is the entry of a chunk's ConfigMap: a JSON array of tools as their server described them.
const key = "tools.json"

// digestDigits of the hash of a definition's UID and a catalog's digest make a chunk's name: 80 bits. A server that was
// re-created has chunks of its own, for its predecessor's go with it.
const digestDigits = 20

// Why a catalog cannot be stored until somebody changes the namespace. Trying again at once would not help.
var (
	// ErrForeign says that a ConfigMap of a chunk's name exists and is not that chunk.
	ErrForeign = errors.New("a ConfigMap of this name exists and does not hold this catalog")
	// ErrRefused says that the API server does not take a chunk: a quota or an admission rule is in the way.
	ErrRefused = errors.New("the API server refuses this ConfigMap")
)

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=get;list;watch;create;patch;delete

// Store writes chunks.
type Store struct {
	// Cached reads the metadata of chunks from the cache.
	Cached client.Reader
	// Live writes, and reads what the cache does not hold.
	Live client.Client
	// Grace is how long a chunk that nobody names is kept.
	Grace time.Duration

	mu sync.Mutex
	// verified says of how many chunks the catalog consists whose chunk this is. What an object says of itself may have
	// been changed since.
	verified map[types.UID]int
}

// maxVerified bounds the table of verified chunks; beyond it, it starts anew.
const maxVerified = 16384

// Ensure makes sure that the catalog is stored, and returns where. It writes only what is missing. named holds the names
// of chunks that the asking session's status names already.
func (s *Store) Ensure(ctx context.Context, server *v1alpha1.McpServer, c *catalog.Catalog, named map[string]bool) (
	[]v1alpha1.CatalogChunk, error,
) {
	var (
		refs  []v1alpha1.CatalogChunk
		parts [][]byte // made only when a chunk is missing or unverified
	)
	id := hash([]byte(string(server.UID) + c.Digest))[:digestDigits]
	for i := 0; ; i++ {
		name := fmt.Sprintf("%s-%s-%d", server.Name, id, i)
		meta := &metav1.PartialObjectMetadata{}
		meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		err := s.Cached.Get(ctx, types.NamespacedName{Namespace: server.Namespace, Name: name}, meta)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		count := 0
		if err == nil {
			count = s.verifiedCount(meta.UID)
		}
		if count == 0 {
			if parts == nil {
				parts = catalog.Chunks(c, v1alpha1.ChunkBytes)
			}
			count = len(parts)
			if meta, err = s.create(ctx, server, c, name, parts[i], count); err != nil {
				return nil, err
			}
		}
		if !named[name] {
			if err := s.touch(ctx, meta); err != nil {
				return nil, err
			}
		}
		refs = append(refs, v1alpha1.CatalogChunk{Server: server.Name, ConfigMap: name, CatalogDigest: c.Digest})
		if len(refs) == count {
			return refs, nil
		}
	}
}

func (s *Store) create(ctx context.Context, server *v1alpha1.McpServer, c *catalog.Catalog, name string, part []byte,
	count int,
) (*metav1.PartialObjectMetadata, error) {
	immutable := true
	configMap := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: server.Namespace, Name: name,
			Labels: map[string]string{
				v1alpha1.LabelCatalogServer: server.Name,
				v1alpha1.LabelCatalogDigest: c.Digest[:digestDigits],
			},
			Annotations: map[string]string{v1alpha1.AnnotationChunkCount: strconv.Itoa(count)},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v1alpha1.GroupVersion.String(), Kind: "McpServer", Name: server.Name, UID: server.UID,
			}},
		},
		Immutable: &immutable,
		Data:      map[string]string{key: string(part)},
	}
	err := s.Live.Create(ctx, configMap)
	switch {
	case apierrors.IsAlreadyExists(err):
		err = s.verify(ctx, configMap, part)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		// Without the API server's own words: they hold figures that change.
		err = fmt.Errorf("%w: %s", ErrRefused, name)
	}
	if err != nil {
		return nil, err
	}
	s.setVerified(configMap.UID, count)
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: configMap.ObjectMeta,
	}, nil
}

// verify reads a chunk that exists already, once a process: whoever may write ConfigMaps in the namespace could have put
// another one in its place. One that would not be found again, or would not go with its server, is none of ours.
func (s *Store) verify(ctx context.Context, configMap *corev1.ConfigMap, part []byte) error {
	want := configMap.DeepCopy()
	if err := s.Live.Get(ctx, client.ObjectKeyFromObject(want), configMap); err != nil {
		return err
	}
	if !ptr.Deref(configMap.Immutable, false) || hash([]byte(configMap.Data[key])) != hash(part) ||
		configMap.Labels[v1alpha1.LabelCatalogDigest] != want.Labels[v1alpha1.LabelCatalogDigest] ||
		!equality.Semantic.DeepEqual(configMap.OwnerReferences, want.OwnerReferences) {
		return fmt.Errorf("%w: %s", ErrForeign, configMap.Name)
	}
	return nil
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// touch says that a chunk is about to be named, when it is old enough that a sweep could be about to delete it.
func (s *Store) touch(ctx context.Context, meta *metav1.PartialObjectMetadata) error {
	if time.Since(lastNamed(meta)) < s.Grace/2 {
		return nil
	}
	base := meta.DeepCopy()
	metav1.SetMetaDataAnnotation(&meta.ObjectMeta, v1alpha1.AnnotationChunkNamed, time.Now().UTC().Format(time.RFC3339))
	patch := client.MergeFromWithOptions(base, client.MergeFromWithOptimisticLock{})
	// A conflict is another session's touch of the same moment: as good as ours. A sweep that deletes a chunk carries the
	// version that it judged, so that it fails after either.
	if err := s.Live.Patch(ctx, meta, patch); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("touch %s: %w", meta.Name, err)
	}
	return nil
}

func lastNamed(meta *metav1.PartialObjectMetadata) time.Time {
	if at, err := time.Parse(time.RFC3339, meta.Annotations[v1alpha1.AnnotationChunkNamed]); err == nil {
		return at
	}
	return meta.CreationTimestamp.Time
}

func (s *Store) verifiedCount(uid types.UID) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.verified[uid]
}

func (s *Store) setVerified(uid types.UID, count int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verified == nil || len(s.verified) >= maxVerified {
		s.verified = map[types.UID]int{}
	}
	s.verified[uid] = count
}
