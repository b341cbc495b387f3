package storeless

import (
	"hash/maphash"
	"sync"
	"time"
)

const (
	// maxDeparted owners are remembered in one period, twice as many at most: less than 200 KB.
	maxDeparted = 4096
	// departedTime is how long an owner is remembered at least, where there are not too many. The garbage
	// collector deletes the children of thousands of owners in less.
	departedTime = time.Minute
)

// departed are the owners whose deletion was shown a short time ago, by uid. What happens to their
// children is the garbage collector's work; without it each child that goes would cost a read of an owner
// that is gone. Past the bounds the owner is read.
type departed struct {
	mutex         sync.Mutex
	recent, older map[uint64]struct{}
	// timer runs while something is remembered.
	timer *time.Timer
}

var departedSeed = maphash.MakeSeed()

func (d *departed) add(uid string) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if len(d.recent) >= maxDeparted {
		d.turn()
	}
	if d.recent == nil {
		d.recent = make(map[uint64]struct{})
	}
	d.recent[maphash.String(departedSeed, uid)] = struct{}{}
	if d.timer == nil {
		d.timer = time.AfterFunc(departedTime, d.expire)
	}
}

func (d *departed) contains(uid string) bool {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.timer == nil {
		return false
	}
	hash := maphash.String(departedSeed, uid)
	_, recently := d.recent[hash]
	_, before := d.older[hash]
	return recently || before
}

func (d *departed) expire() {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.turn()
	if d.older == nil {
		d.timer = nil
	} else {
		d.timer.Reset(departedTime)
	}
}

func (d *departed) turn() { d.older, d.recent = d.recent, nil }
