package storeless

import (
	"math/rand/v2"
	"time"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// state is where an entry stands.
type state int

const (
	// queued: has work and waits for a worker.
	queued state = iota
	// inFlight: a worker has it.
	inFlight
	// delayed: waits for its time, after a failure, while events of children merge, or as its status yields.
	delayed
	// held: written; kept until the watches have shown it and it is ready.
	held
)

// entry is an owner in flight. While it is in flight its work belongs to the worker, and what comes
// meanwhile is put aside.
type entry struct {
	state state
	work  work
	// timer ends delayed and held.
	timer *time.Timer

	// The newest sights while a worker has it.
	pending *owner
	news    [kinds]*childNews
	gone    bool
}

// work is what is known of one owner, and what is to be done.
type work struct {
	key string
	// owner is nil when it has to be read first.
	owner *owner
	uid   string
	// written is the version of our own last write to the owner.
	written version
	// slots are the children as they were last seen.
	slots [kinds]slot
	// check: the children have to be read and compared.
	check bool
	// heard: a status has to be written anew.
	heard    bool
	attempts int
	// yielded is the generation whose children are written and whose status has yielded to the work of others, or 0.
	yielded int64
}

type slot struct {
	version version
	state   edgeapp.DeploymentState
}

// childNews is what a watch has shown of a child.
type childNews struct {
	kind    int
	uid     string // of its controller, "" for none
	version version
	deleted bool
	state   edgeapp.DeploymentState
}

// due says whether there is anything to do.
func (w *work) due() bool {
	return w.check || w.heard || w.owner != nil && w.owner.needsWork()
}

// hear takes in what a child tells; the echo of our own write is nothing new.
func (w *work) hear(news *childNews) {
	known := &w.slots[news.kind]
	if news.version <= known.version {
		return
	}
	before := *known
	*known = slot{news.version, news.state}
	switch {
	case news.deleted:
		known.state = edgeapp.DeploymentState{}
		w.check = true
	case news.kind == services || news.state.Generation != before.state.Generation:
		// Somebody changed its spec.
		w.check = true
	case news.state != before.state:
		w.heard = true
	}
}

// verdict is how the work on an owner ended.
type verdict struct {
	// err is nil when everything is written.
	err error
	// after is when it is tried again; 0 backs off.
	after time.Duration
	// gone: there is no such owner any more.
	gone bool
	// yields: the children are written, and the status waits.
	yields bool
}

// backoff doubles from half a second to five minutes, with equal jitter.
func backoff(attempts int) time.Duration {
	const base, most = 500 * time.Millisecond, 5 * time.Minute
	step := min(base<<min(attempts-1, 20), most)
	return step/2 + rand.N(step/2)
}
