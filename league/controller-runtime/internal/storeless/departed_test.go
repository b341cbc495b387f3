package storeless

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

func TestADepartedOwnerIsRememberedForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone departed
		if gone.contains("web") {
			t.Error("nothing was deleted")
		}
		gone.add("web")
		time.Sleep(departedTime + time.Second)
		if !gone.contains("web") || gone.contains("other") {
			t.Error("it is forgotten within a period, or another is remembered")
		}
		time.Sleep(departedTime)
		if gone.contains("web") {
			t.Error("it is remembered after two periods")
		}
		gone.add("web")
		if !gone.contains("web") {
			t.Error("nothing is remembered after a pause")
		}
	})
}

func TestDepartedOwnersAreBoundedInNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone departed
		for i := range 3 * maxDeparted {
			gone.add(strconv.Itoa(i))
		}
		known := 0
		for i := range 3 * maxDeparted {
			if gone.contains(strconv.Itoa(i)) {
				known++
			}
		}
		if known < maxDeparted || known > 2*maxDeparted || !gone.contains(strconv.Itoa(3*maxDeparted-1)) {
			t.Errorf("%d are remembered", known)
		}
	})
}
