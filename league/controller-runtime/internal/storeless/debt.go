package storeless

import "sync"

// debt is the join that is owed: at most one, of the greatest extent that was asked for since the last was taken. A
// join of everything also pays one of owners only; the other way round, changes of children would be lost.
type debt struct {
	mutex sync.Mutex
	how   extent
	owed  bool
	// due has a value whenever something is owed.
	due chan struct{}
}

func newDebt() *debt {
	return &debt{due: make(chan struct{}, 1)}
}

// owe asks for a join.
func (d *debt) owe(how extent) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if !d.owed {
		d.how, d.owed = how, true
		d.due <- struct{}{}
		return
	}
	d.how = max(d.how, how)
}

// take is for who got a value from due: the extent of the join that begins now. What is owed from here on is the next one's.
func (d *debt) take() extent {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.owed = false
	return d.how
}
