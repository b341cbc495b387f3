package storeless

import "testing"

func TestAFullJoinIsOwedHoweverManyOfOwnersWait(t *testing.T) {
	debt := newDebt()
	for range 1000 {
		debt.owe(ownersOnly)
	}
	debt.owe(everything)
	debt.owe(ownersOnly)
	<-debt.due
	if how := debt.take(); how != everything {
		t.Errorf("a join of extent %d begins, not of everything", how)
	}
	select {
	case <-debt.due:
		t.Error("one join does not pay for all")
	default:
	}
}

func TestWhatIsOwedDuringAJoinIsTheNextOnes(t *testing.T) {
	debt := newDebt()
	debt.owe(everything)
	<-debt.due
	debt.owe(ownersOnly)
	if how := debt.take(); how != everything {
		t.Errorf("a join of extent %d begins, not of everything", how)
	}
	debt.owe(ownersOnly)
	<-debt.due
	if how := debt.take(); how != ownersOnly {
		t.Errorf("a join of extent %d begins, not of owners only", how)
	}
}
