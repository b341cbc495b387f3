package storeless

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

func app(name string, at version, generation, observed int64) *owner {
	one := &owner{}
	one.Metadata = metadata{
		Name: name, Namespace: "shop", UID: "uid-" + name, ResourceVersion: at, Generation: generation,
	}
	one.Status.ObservedGeneration = observed
	if observed > 0 {
		one.Status.Phase = edgeapp.Running
	}
	return one
}

// ended takes what is queued without waiting for more.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

func newTestQueue(t *testing.T) (*queue, *[]extent) {
	var owed []extent
	q := newQueue(func(how extent) { owed = append(owed, how) })
	t.Cleanup(func() {
		if q.queuedSpecs < 0 || q.heldSpecs < 0 || len(q.entries) == 0 && q.queuedSpecs+q.heldSpecs != 0 {
			t.Errorf("%d queued and %d held specs in %d entries", q.queuedSpecs, q.heldSpecs, len(q.entries))
		}
	})
	return q, &owed
}

func take(t *testing.T, q *queue) work {
	t.Helper()
	w, ok := q.take(ended())
	if !ok {
		t.Fatal("nothing is queued")
	}
	return w
}

func none(t *testing.T, q *queue, why string) {
	t.Helper()
	if w, ok := q.take(ended()); ok {
		t.Fatalf("%s, and yet %s is queued", why, w.key)
	}
}

func TestAConvergedOwnerNeedsNoEntry(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 1))
	if len(q.entries) != 0 {
		t.Errorf("%d entries", len(q.entries))
	}
}

func TestAnEntryIsForgottenOnceEveryWatchHasShownOurWrites(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	w.owner = app("web", 9, 1, 1)
	w.written = 9
	w.slots[deployments].version, w.slots[services].version = 7, 8
	q.finish(w, verdict{})
	none(t, q, "all is written")
	q.show(deployments, 7)
	q.show(services, 8)
	q.hear("shop/web", &childNews{kind: deployments, version: 7})
	if len(q.entries) != 1 {
		t.Fatal("forgotten before the watch of the owners has shown our last write")
	}
	q.show(owners, 9)
	q.see(app("web", 9, 1, 1))
	none(t, q, "that was the echo of our own write")
	if len(q.entries) != 0 {
		t.Error("not forgotten")
	}
}

func TestWhatComesWhileAWorkerHasItIsWorkedOnAfterwards(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	q.see(app("web", 6, 2, 0))
	none(t, q, "a worker has it")
	w.owner = app("web", 5, 1, 1)
	q.finish(w, verdict{})
	if again := take(t, q); again.owner.Metadata.Generation != 2 {
		t.Errorf("generation %d, want 2", again.owner.Metadata.Generation)
	}
}

func TestADeploymentThatBecomesReadyQueuesItsOwnerForItsStatus(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	w.owner = app("web", 6, 1, 1)
	w.owner.Status.Phase = edgeapp.Progressing
	w.written = 6
	w.slots[deployments] = slot{7, edgeapp.DeploymentState{Exists: true, Generation: 1}}
	q.finish(w, verdict{})
	ready := edgeapp.DeploymentState{Exists: true, Generation: 1, ObservedGeneration: 1, ReadyReplicas: 1}
	q.hear("shop/web", &childNews{kind: deployments, version: 9, state: ready})
	if w = take(t, q); w.check || !w.heard || w.slots[deployments].state != ready {
		t.Errorf("%+v", w)
	}
	q.finish(w, verdict{})
	q.hear("shop/web", &childNews{kind: deployments, version: 10, deleted: true})
	if w = take(t, q); !w.check {
		t.Error("a deleted child is not looked at")
	}
}

func TestAFailureIsTriedAgainLaterAndDelaysNobodyElse(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	w.check = true
	q.finish(w, verdict{err: errors.New("refused")})
	none(t, q, "it backs off")
	q.see(app("other", 6, 1, 0))
	if w = take(t, q); w.key != "shop/other" {
		t.Errorf("%s comes first", w.key)
	}
	// Its spec was changed: the time is up.
	q.see(app("web", 7, 2, 0))
	if w = take(t, q); w.key != "shop/web" || w.attempts != 0 {
		t.Errorf("%s after %d attempts", w.key, w.attempts)
	}
}

func TestWhatFindsNoRoomIsOwedToAJoin(t *testing.T) {
	q, owed := newTestQueue(t)
	for i := range maxQueuedSpecs + 3 {
		q.see(app(fmt.Sprintf("web-%d", i), 5, 1, 0))
	}
	if len(q.entries) != maxQueuedSpecs || len(*owed) != 3 || (*owed)[0] != ownersOnly {
		t.Errorf("%d entries, owed %v", len(q.entries), *owed)
	}
}

func TestOwnersThatAreNotReadyKeepNobodyOut(t *testing.T) {
	q, owed := newTestQueue(t)
	for i := range 3 * maxEntries {
		q.checkLater(fmt.Sprintf("shop/web-%d", i), 0)
		one := q.entries[fmt.Sprintf("shop/web-%d", i)]
		if one == nil {
			t.Fatalf("number %d found no room", i)
		}
		q.mutex.Lock()
		q.enqueue(one)
		q.mutex.Unlock()
		w := take(t, q)
		// Written, and not ready yet.
		w.owner = app(fmt.Sprintf("web-%d", i), 5, 1, 1)
		w.owner.Status.Phase = edgeapp.Progressing
		q.finish(w, verdict{})
	}
	if len(q.entries) != maxEntries || len(*owed) != 0 || len(q.heldKeys) > 2*maxEntries {
		t.Errorf("%d entries, %d keys, owed %v", len(q.entries), len(q.heldKeys), *owed)
	}
}

func TestAnOwnerThatIsGoneIsForgotten(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	q.forget("shop/web", "uid-web")
	q.finish(w, verdict{err: errAgain})
	if len(q.entries) != 0 {
		t.Error("it is held")
	}
	// Created again under the same name while a worker has the old one.
	second := app("web", 6, 1, 0)
	second.Metadata.UID = "second"
	q.see(second)
	w = take(t, q)
	next := app("web", 8, 1, 0)
	next.Metadata.UID = "another"
	q.forget("shop/web", "second")
	q.see(next)
	q.finish(w, verdict{gone: true})
	if w = take(t, q); w.uid != "another" {
		t.Errorf("uid %s", w.uid)
	}
}

func TestAnOwnerThatIsBeingDeletedIsForgotten(t *testing.T) {
	q, _ := newTestQueue(t)
	going := app("web", 6, 2, 1)
	since := "2026-01-01T00:00:00Z"
	going.Metadata.DeletionTimestamp = &since
	q.see(going)
	none(t, q, "it is being deleted")
	other := app("other", 5, 1, 0)
	q.see(other)
	w := take(t, q)
	going.Metadata.Name, going.Metadata.UID = "other", other.Metadata.UID
	q.see(going)
	q.finish(w, verdict{err: errAgain})
	if len(q.entries) != 0 {
		t.Errorf("%d entries", len(q.entries))
	}
}

func TestWhatHappensToChildrenOfADeletedOwnerIsNoWork(t *testing.T) {
	q, _ := newTestQueue(t)
	q.forget("shop/web", "uid-web")
	q.hear("shop/web", &childNews{kind: services, uid: "uid-web", version: 8, deleted: true})
	q.hear("shop/web", &childNews{kind: deployments, uid: "uid-web", version: 9, deleted: true})
	// A page of a join that is older than the deletion.
	q.see(app("web", 5, 1, 0))
	if len(q.entries) != 0 {
		t.Fatal("a deleted owner has work")
	}
	next := app("web", 10, 1, 0)
	next.Metadata.UID = "another"
	q.see(next)
	if w := take(t, q); w.uid != "another" {
		t.Errorf("uid %s", w.uid)
	}
}

// yielding is a queue with one owner, whose children are written and whose status yields.
func yielding(t *testing.T) (*queue, work) {
	t.Helper()
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	w.yielded = 1
	q.finish(w, verdict{yields: true})
	return q, w
}

func TestAStatusThatYieldsWaitsForASecondAndThenInLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, w := yielding(t)
		// What it waits for does not end its time.
		q.hear(w.key, &childNews{
			kind: deployments, uid: w.uid, version: 9, state: edgeapp.DeploymentState{ReadyReplicas: 1},
		})
		none(t, q, "its status yields")
		time.Sleep(yieldTime - time.Millisecond)
		q.see(app("other", 6, 1, 0))
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if first := take(t, q); first.key == w.key {
			t.Fatal("it goes before an owner that has waited longer")
		}
		if again := take(t, q); again.key != w.key || again.slots[deployments].state.ReadyReplicas != 1 {
			t.Fatalf("%+v", again)
		}
	})
}

func TestAChangedSpecDoesNotYield(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, _ := yielding(t)
		q.see(app("web", 9, 2, 0))
		if again := take(t, q); again.owner.Metadata.Generation == again.yielded {
			t.Fatal("the children of the new spec are taken for written")
		}
	})
}

func TestAPageThatIsOlderThanOurLastWriteIsNoWork(t *testing.T) {
	q, _ := newTestQueue(t)
	q.see(app("web", 5, 1, 0))
	w := take(t, q)
	w.owner, w.written = app("web", 9, 1, 1), 9
	q.show(owners, 9)
	q.finish(w, verdict{})
	if len(q.entries) != 0 {
		t.Fatalf("%d entries", len(q.entries))
	}
	q.see(app("web", 5, 1, 0))
	none(t, q, "the page of a join is older than our write")
	// Somebody has emptied the status.
	q.see(app("web", 12, 1, 0))
	if again := take(t, q); again.key != w.key {
		t.Errorf("%+v", again)
	}
}
