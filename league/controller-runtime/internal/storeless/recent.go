package storeless

import (
	"hash/maphash"
	"math"
	"sync"
	"time"
)

const (
	// maxRecent owners are remembered in one period, twice as many at most: less than 400 KB.
	maxRecent = 4096
	// recentTime is how long an owner is remembered at least, where there are not too many. The garbage
	// collector deletes the children of thousands of owners in less, and a join of owners takes less.
	recentTime = time.Minute
	// deleted is the version of an owner whose deletion was shown: all else that shows it is older.
	deleted version = math.MaxUint64
)

// recent are the owners that were written or deleted a short time ago, by uid, with the version below which what is
// shown of them is old. A page of a join shows an owner as it was when the join began, and without this one that is done
// would be made again. What happens to the children of a deleted owner is the garbage collector's work; without this each
// child that goes would cost a read of an owner that is gone. Past the bounds both cost reads.
type recent struct {
	mutex         sync.Mutex
	newest, older map[uint64]version
	// timer runs while something is remembered.
	timer *time.Timer
}

var recentSeed = maphash.MakeSeed()

func (r *recent) add(uid string, at version) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if len(r.newest) >= maxRecent {
		r.turn()
	}
	if r.newest == nil {
		r.newest = make(map[uint64]version)
	}
	hash := maphash.String(recentSeed, uid)
	r.newest[hash] = max(r.newest[hash], at)
	if r.timer == nil {
		r.timer = time.AfterFunc(recentTime, r.expire)
	}
}

// last is the newest version that is known, 0 for none.
func (r *recent) last(uid string) version {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.timer == nil {
		return 0
	}
	hash := maphash.String(recentSeed, uid)
	return max(r.newest[hash], r.older[hash])
}

func (r *recent) expire() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.turn()
	if r.older == nil {
		r.timer = nil
	} else {
		r.timer.Reset(recentTime)
	}
}

func (r *recent) turn() { r.older, r.newest = r.newest, nil }
