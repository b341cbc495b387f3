package storeless

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestAnOwnerIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known recent
		if known.last("web") != 0 {
			t.Error("nothing was written")
		}
		known.add("web", 7)
		known.add("web", 5)
		time.Sleep(recentTime + time.Second)
		if known.last("web") != 7 || known.last("other") != 0 {
			t.Error("it is forgotten within a period, or another is remembered")
		}
		time.Sleep(recentTime)
		if known.last("web") != 0 {
			t.Error("it is remembered after two periods")
		}
		known.add("web", deleted)
		if known.last("web") != deleted {
			t.Error("nothing is remembered after a pause")
		}
	})
}

func TestRememberedOwnersAreBoundedInNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known recent
		for i := range 3 * maxRecent {
			known.add(strconv.Itoa(i), 1)
		}
		count := 0
		for i := range 3 * maxRecent {
			if known.last(strconv.Itoa(i)) != 0 {
				count++
			}
		}
		if count < maxRecent || count > 2*maxRecent || known.last(strconv.Itoa(3*maxRecent-1)) == 0 {
			t.Errorf("%d are remembered", count)
		}
	})
}
