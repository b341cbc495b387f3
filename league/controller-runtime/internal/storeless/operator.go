// Package storeless is the EdgeApp operator in Go by the design of Tare's cache mode `none`: raw
// watches, a queue of owners in flight, a paged merge-join for start and resync, no informer and no
// store. It is here so that a report can split what the design is worth from what the language is.
//
// Guarantees: a converged object needs no memory; a new one costs three requests until observed and a
// fourth when it becomes ready; watches are always read, what finds no room is dropped and found again
// by a join; a child that is not ours is neither changed nor deleted, every write names the uid it is
// meant for. Leaves the children of a deleted owner to the garbage collector. Leaves out of Tare's:
// Events, Leases, other cache modes, fights over a field, Retry-After.
package storeless

import (
	"context"
	"errors"
	"log"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"tare.dev/league/controller-runtime/internal/histogram"
)

const (
	// workers is how many owners are worked on at once, as in every tuned operator here.
	workers = 16
	// resyncPeriod is between two joins of everything, give or take a tenth. It finds again what Tare, whose period is
	// ten hours, has late relists for.
	resyncPeriod = 10 * time.Minute
	// joinGap lies between two joins that are owed.
	joinGap = 200 * time.Millisecond
	// tidyAfter the first work since the last time, what it freed is given back to the kernel.
	tidyAfter = 7 * time.Second
	// drain is how long work in flight may take at the end.
	drain = 5 * time.Second
)

// epoch stands for a time that does not matter.
var epoch = time.Unix(0, 0)

// Operator is the whole of it.
type Operator struct {
	// Durations and Errors are of calls of the reconcile function.
	Durations histogram.Histogram
	Errors    atomic.Uint64

	api   *api
	queue *queue
	debt  *debt

	mutex    sync.Mutex
	watching [kinds]bool
	open     [kinds]bool
	joined   bool
	tidying  atomic.Bool

	restarts, skipped, joins atomic.Uint64
}

// New makes an operator that does nothing yet.
func New(config *Config) *Operator {
	o := &Operator{api: newAPI(config), debt: newDebt()}
	o.queue = newQueue(o.debt.owe)
	return o
}

// Run works until ctx is done; trouble with the server is waited out. What is in flight then gets
// five seconds.
func (o *Operator) Run(ctx context.Context) {
	working, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()
	var pool sync.WaitGroup
	for range workers {
		pool.Go(func() {
			for {
				w, ok := o.queue.take(ctx)
				if !ok {
					return
				}
				how := o.reconcile(working, &w)
				o.queue.finish(w, how)
				o.tidyLater()
			}
		})
	}
	o.joinForever(ctx)
	o.queue.close()
	late := time.AfterFunc(drain, abandon)
	pool.Wait()
	late.Stop()
}

// Ready is nil once the first join is done and all watches stand.
func (o *Operator) Ready() error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if !o.joined {
		return errors.New("the first join is not done yet")
	}
	for kind, open := range o.open {
		if !open {
			return errors.New("the watch of " + collections[kind].plural + " is not open")
		}
	}
	return nil
}

// joinForever joins at the start, periodically, and when something is owed to a join.
func (o *Operator) joinForever(ctx context.Context) {
	next, failures := everything, 0
	for ctx.Err() == nil {
		err := o.join(ctx, next)
		o.tidyLater()
		if err != nil && ctx.Err() == nil {
			failures++
			log.Printf("join: %v; trying again", err)
			sleep(ctx, min(backoff(failures), time.Minute))
			next = everything
			continue
		}
		failures = 0
		o.joins.Add(1)
		if next == everything {
			o.mutex.Lock()
			o.joined = true
			o.mutex.Unlock()
		}
		jitter := resyncPeriod - resyncPeriod/10 + rand.N(resyncPeriod/5)
		select {
		case <-ctx.Done():
		case <-time.After(jitter):
			next = everything
		case <-o.debt.due:
			sleep(ctx, joinGap)
			// One join settles all that was owed until it begins.
			next = o.debt.take()
		}
	}
}

// follow opens the watch of a kind unless it stands; when its place is gone, a join finds another.
func (o *Operator) follow(ctx context.Context, kind int, from version) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.watching[kind] {
		return
	}
	o.watching[kind] = true
	o.queue.show(kind, from)
	go func() {
		if err := o.watch(ctx, kind, from); err != nil {
			log.Printf("watching %s: %v; joining anew", collections[kind].plural, err)
			o.mutex.Lock()
			o.watching[kind], o.open[kind] = false, false
			o.mutex.Unlock()
			o.restarts.Add(1)
			sleep(ctx, 500*time.Millisecond+rand.N(500*time.Millisecond))
			o.debt.owe(everything)
		}
	}()
}

func (o *Operator) opened(kind int) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.open[kind] = true
}

// tidyLater gives freed memory back to the kernel once the work has passed by, as Tare does.
func (o *Operator) tidyLater() {
	if o.tidying.CompareAndSwap(false, true) {
		time.AfterFunc(tidyAfter, func() {
			o.tidying.Store(false)
			debug.FreeOSMemory()
		})
	}
}
