package storeless

import (
	"context"
	"sync"
	"time"
)

const (
	// maxEntries are held at most, in whatever state: as many as tare's.
	maxEntries = 640
	// maxQueuedSpecs wait for a worker at most with their spec: 16 workers with 16 each.
	maxQueuedSpecs = 256
	// maxHeldSpecs are kept for owners that wait for their children; one that waits without its spec
	// costs a read.
	maxHeldSpecs = 512
	// mergeTime is how long events of children of an owner without an entry are gathered.
	mergeTime = time.Second
	// holdTime is a Deployment's default progress deadline.
	holdTime = 10 * time.Minute
	// yieldTime is how long a status that is not final yields to the work of others before it waits for a worker.
	yieldTime = time.Second
	// confirmTime is how long a ready owner is kept at most for a watch to show our last write.
	confirmTime = time.Minute
)

// queue holds the owners in flight: one entry for each that has work, or whose last write is not yet
// seen. What finds no room is dropped and owed to a join.
type queue struct {
	mutex   sync.Mutex
	work    sync.Cond // ready has grown, or it is closed
	room    sync.Cond // entries or specs have become fewer
	entries map[string]*entry
	ready   []string
	// heldKeys are those that came to be held, the oldest first. Some are not held any more.
	heldKeys []string
	closed   bool
	// shown is the newest version that the watch of each kind has shown.
	shown                  [kinds]version
	queuedSpecs, heldSpecs int
	// busy are the owners that workers have.
	busy int
	// recent are the owners that were written or deleted a short time ago.
	recent recent
	// owe asks for a join.
	owe func(extent)
}

func newQueue(owe func(extent)) *queue {
	q := &queue{entries: make(map[string]*entry), owe: owe}
	q.work.L, q.room.L = &q.mutex, &q.mutex
	return q
}

// see takes an owner as a watch or a join shows it. One that is being deleted has no work left.
func (q *queue) see(seen *owner) {
	if seen.Metadata.deleting() {
		q.forget(seen.Metadata.key(), seen.Metadata.UID)
		return
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.offer(seen)
}

func (q *queue) offer(seen *owner) {
	meta := &seen.Metadata
	key := meta.key()
	e := q.entries[key]
	switch {
	case e == nil:
		// A page of a join may be older than the deletion, or than our own last write.
		if !seen.needsWork() || q.recent.last(meta.UID) > meta.ResourceVersion {
			return
		}
		if q.queuedSpecs >= maxQueuedSpecs || !q.hasRoom() {
			q.owe(ownersOnly)
			return
		}
		e = &entry{state: held, work: work{key: key, owner: seen, uid: meta.UID}}
		q.heldSpecs++
		q.entries[key] = e
		q.enqueue(e)
	case e.state == inFlight:
		if e.pending == nil || e.pending.Metadata.ResourceVersion < meta.ResourceVersion {
			e.pending, e.gone = seen, false
		}
	case e.work.uid != "" && e.work.uid != meta.UID:
		// Deleted and created again under the same name.
		q.remove(e)
		q.offer(seen)
	default:
		known := e.work.written
		changed := e.work.owner == nil
		if o := e.work.owner; o != nil {
			known = max(known, o.Metadata.ResourceVersion)
			changed = o.Metadata.Generation != meta.Generation
		}
		if meta.ResourceVersion <= known {
			q.settle(e)
			return
		}
		waits := e.state == delayed
		q.keep(e, seen)
		switch {
		case waits && !changed:
			// Nothing that matters: its time stands.
		case e.work.due():
			if changed {
				e.work.attempts = 0
			}
			q.enqueue(e)
		default:
			q.settle(e)
		}
	}
}

// checkLater asks for an owner to be read and its children compared.
func (q *queue) checkLater(key string, after time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	e := q.entries[key]
	switch {
	case e == nil && !q.hasRoom():
		q.owe(everything)
	case e == nil:
		e = &entry{work: work{key: key, check: true}}
		q.entries[key] = e
		q.wait(e, delayed, after)
	case e.state == held:
		q.keep(e, nil)
		e.work.check = true
		q.enqueue(e)
	}
	// In flight or waiting: it will be looked at.
}

// forget takes note that an owner is gone or going.
func (q *queue) forget(key, uid string) {
	q.recent.add(uid, deleted)
	q.mutex.Lock()
	defer q.mutex.Unlock()
	switch e := q.entries[key]; {
	case e == nil:
	case e.state == inFlight:
		e.gone, e.pending = true, nil
	case e.work.uid == uid || e.work.uid == "":
		q.remove(e)
	}
}

// hear takes a child as a watch shows it.
func (q *queue) hear(key string, news *childNews) {
	q.mutex.Lock()
	e := q.entries[key]
	if e == nil {
		q.mutex.Unlock()
		if q.recent.last(news.uid) != deleted {
			q.checkLater(key, mergeTime)
		}
		return
	}
	defer q.mutex.Unlock()
	if news.uid != "" && e.work.uid != "" && news.uid != e.work.uid && !news.deleted {
		// A child of an earlier owner of that name.
		return
	}
	switch e.state {
	case inFlight:
		if old := e.news[news.kind]; old == nil || old.version < news.version {
			e.news[news.kind] = news
		}
	case held, queued:
		e.work.hear(news)
		if e.state == held && e.work.due() {
			q.enqueue(e)
		} else {
			q.settle(e)
		}
	case delayed:
		// One that backs off stays where it is, unless the world moved under its feet.
		e.work.hear(news)
		if e.work.attempts > 0 && news.deleted {
			e.work.attempts = 0
			q.enqueue(e)
		}
	}
}

// show: the watch of kind has shown everything up to here.
func (q *queue) show(kind int, to version) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.shown[kind] = max(q.shown[kind], to)
}

// take waits for an owner to work on; false once ctx is done.
func (q *queue) take(ctx context.Context) (work, bool) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for {
		for len(q.ready) > 0 {
			key := q.ready[0]
			q.ready = q.ready[1:]
			if e := q.entries[key]; e != nil && e.state == queued {
				q.count(e, -1)
				e.state = inFlight
				q.busy++
				q.room.Broadcast()
				return e.work, true
			}
		}
		// The next append starts a new array: the old one is as long as the longest burst.
		q.ready = nil
		if q.closed || ctx.Err() != nil {
			return work{}, false
		}
		q.work.Wait()
	}
}

// finish gives back what was taken.
func (q *queue) finish(done work, how verdict) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.busy--
	e := q.entries[done.key]
	pending, news, gone := e.pending, e.news, e.gone
	e.pending, e.news, e.gone = nil, [kinds]*childNews{}, false
	e.state, e.work = held, done
	q.count(e, +1)
	if gone || how.gone || pending != nil && done.uid != "" && pending.Metadata.UID != done.uid {
		q.remove(e)
		if pending != nil && pending.Metadata.UID != done.uid {
			q.offer(pending)
		}
		return
	}
	if how.err == nil {
		e.work.check, e.work.heard, e.work.attempts = false, false, 0
	} else {
		e.work.attempts++
	}
	if pending != nil && pending.Metadata.ResourceVersion > e.work.written &&
		(e.work.owner == nil || pending.Metadata.ResourceVersion > e.work.owner.Metadata.ResourceVersion) {
		q.keep(e, pending)
	}
	for _, one := range news {
		if one != nil {
			e.work.hear(one)
		}
	}
	switch {
	case how.err != nil && how.after > 0:
		q.wait(e, delayed, how.after)
	case how.err != nil:
		q.wait(e, delayed, backoff(e.work.attempts))
	case how.yields && !e.work.check && e.work.owner.Metadata.Generation == e.work.yielded:
		q.wait(e, delayed, yieldTime)
	case e.work.due():
		q.enqueue(e)
	case e.work.owner != nil && e.work.owner.settled():
		q.wait(e, held, confirmTime)
		q.settle(e)
	default:
		if q.heldSpecs > maxHeldSpecs {
			q.keep(e, nil)
		}
		q.wait(e, held, holdTime)
	}
}

// mayYield says whether more owners wait than workers are free, and a status has room to wait: few entries wait for a
// time, and half of the specs that they may keep is free.
func (q *queue) mayYield() bool {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	waiting := len(q.entries) - len(q.ready) - q.busy
	return len(q.ready)+q.busy > workers && waiting < maxEntries/4 && q.heldSpecs < maxHeldSpecs/2
}

// waitForRoom blocks a join while more than half of the bounds is taken: watches need theirs.
func (q *queue) waitForRoom(ctx context.Context) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	for !q.closed && ctx.Err() == nil && (len(q.ready) > maxEntries/2 || q.queuedSpecs > maxQueuedSpecs/2) {
		q.room.Wait()
	}
}

// close lets all that wait here go.
func (q *queue) close() {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	q.closed = true
	q.work.Broadcast()
	q.room.Broadcast()
}

// settle forgets a held owner as soon as it is ready and every watch has shown our last writes.
func (q *queue) settle(e *entry) {
	if e.state != held || e.work.owner == nil || !e.work.owner.settled() || e.work.due() {
		return
	}
	if q.shown[owners] < e.work.written {
		return
	}
	for kind := owners + 1; kind < kinds; kind++ {
		if q.shown[kind] < e.work.slots[kind].version {
			return
		}
	}
	q.remove(e)
}

func (q *queue) enqueue(e *entry) {
	if e.state == queued || e.state == inFlight {
		return
	}
	q.stop(e)
	q.count(e, -1)
	e.state = queued
	q.count(e, +1)
	q.ready = append(q.ready, e.work.key)
	q.work.Signal()
}

// hasRoom makes room for one more entry where the bound is reached: the one that is held the longest is forgotten. All
// its writes are done; when its Deployment changes, it is read again. Without this, owners that are not ready would keep all others out.
func (q *queue) hasRoom() bool {
	for len(q.entries) >= maxEntries && len(q.heldKeys) > 0 {
		e := q.entries[q.heldKeys[0]]
		q.heldKeys = q.heldKeys[1:]
		if e != nil && e.state == held {
			q.remove(e)
		}
	}
	return len(q.entries) < maxEntries
}

func (q *queue) wait(e *entry, state state, after time.Duration) {
	q.stop(e)
	e.state = state
	if state == held {
		if len(q.heldKeys) >= 2*maxEntries {
			q.heldKeys = q.stillHeld()
		}
		q.heldKeys = append(q.heldKeys, e.work.key)
	}
	e.timer = time.AfterFunc(after, func() {
		q.mutex.Lock()
		defer q.mutex.Unlock()
		if q.entries[e.work.key] != e || e.state != state {
			return
		}
		if state == held {
			q.remove(e)
		} else {
			q.enqueue(e)
		}
	})
}

// stillHeld leaves out of heldKeys what is not held any more, and all but the first of a key.
func (q *queue) stillHeld() []string {
	kept, seen := make([]string, 0, maxEntries), make(map[string]bool)
	for _, key := range q.heldKeys {
		if e := q.entries[key]; e != nil && e.state == held && !seen[key] {
			kept = append(kept, key)
			seen[key] = true
		}
	}
	return kept
}

func (q *queue) stop(e *entry) {
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// keep takes another sight of the owner into the entry, or none.
func (q *queue) keep(e *entry, seen *owner) {
	q.count(e, -1)
	e.work.owner = seen
	if seen != nil {
		e.work.uid = seen.Metadata.UID
	}
	q.count(e, +1)
}

// count keeps the books of specs. One whose status has yielded keeps out no new owner when it waits for a worker.
func (q *queue) count(e *entry, by int) {
	switch {
	case e.work.owner == nil || e.state == inFlight:
	case e.state == queued && e.work.yielded == 0:
		q.queuedSpecs += by
	default:
		q.heldSpecs += by
	}
}

func (q *queue) remove(e *entry) {
	q.stop(e)
	q.count(e, -1)
	if e.work.written != 0 {
		q.recent.add(e.work.uid, e.work.written)
	}
	delete(q.entries, e.work.key)
	q.room.Broadcast()
	if len(q.entries) == 0 {
		// A map never shrinks, and a slice keeps its array.
		q.entries, q.heldKeys = make(map[string]*entry), nil
	}
}
