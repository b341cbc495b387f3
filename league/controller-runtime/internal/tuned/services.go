package tuned

import (
	"context"
	"crypto/md5"
	"hash/fnv"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"tare.dev/league/controller-runtime/internal/edgeapp"
	"tare.dev/league/controller-runtime/internal/slim"
)

// primePage is how many Services are read at once at the start.
const primePage = 500

// services remembers the digest of each of our Services at its last known resourceVersion, because
// a watch of metadata does not show the spec. Where somebody else changed a Service since, the
// version differs and the Service is read once.
type services struct {
	mutex sync.RWMutex
	known map[[md5.Size]byte]seenService
}

type seenService struct {
	// version is a hash of the resourceVersion, which is only ever compared for equality.
	version, digest uint64
}

func newServices() *services {
	return &services{known: make(map[[md5.Size]byte]seenService)}
}

// prime reads all Services of ours page by page: at the start that is one request for 500 of them
// where a read of each would be 500.
func (s *services) prime(ctx context.Context, reader client.Reader) error {
	var page corev1.ServiceList
	for {
		err := reader.List(ctx, &page, client.MatchingLabels{edgeapp.ManagedByLabel: edgeapp.Name},
			client.Limit(primePage), client.Continue(page.Continue))
		if err != nil {
			return err
		}
		for i := range page.Items {
			s.see(&page.Items[i])
		}
		if page.Continue == "" {
			return nil
		}
	}
}

// see remembers a Service as the server has just shown it.
func (s *services) see(service *corev1.Service) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.known[keyOf(service.UID)] = seenService{versionOf(service.ResourceVersion), slim.DigestOfService(service)}
}

// digestOf is the digest of a Service at exactly this version; 0 when that is not known.
func (s *services) digestOf(meta *metav1.ObjectMeta) uint64 {
	s.mutex.RLock()
	defer s.mutex.RUnlock()
	if seen, ok := s.known[keyOf(meta.UID)]; ok && seen.version == versionOf(meta.ResourceVersion) {
		return seen.digest
	}
	return 0
}

func (s *services) forget(uid types.UID) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.known, keyOf(uid))
}

func keyOf(uid types.UID) [md5.Size]byte {
	return md5.Sum([]byte(uid))
}

func versionOf(resourceVersion string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(resourceVersion)) // A hash never fails.
	return hash.Sum64()
}
