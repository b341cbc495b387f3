package storeless

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strconv"
	"strings"

	"tare.dev/league/controller-runtime/internal/edgeapp"
)

// differs says whether a child differs from its plan: a field outside the plan is never a difference,
// a list in the plan is the whole list, a planned nil must be absent or empty, and quantities are
// compared by value (0.5 is 500m).
func differs(plan, actual any) bool {
	return compare(plan, actual, false)
}

func compare(plan, actual any, quantity bool) bool {
	switch plan := plan.(type) {
	case nil:
		return !isEmpty(actual)
	case edgeapp.Body:
		found, _ := actual.(map[string]any)
		for key, wanted := range plan {
			if compare(wanted, found[key], quantity || key == "requests" || key == "limits") {
				return true
			}
		}
		return false
	case []any:
		found, _ := actual.([]any)
		if len(found) != len(plan) {
			return true
		}
		for i := range plan {
			if compare(plan[i], found[i], quantity) {
				return true
			}
		}
		return false
	case string:
		found, isText := actual.(string)
		if plan == found && (isText || plan == "") {
			return false
		}
		return !quantity || !sameQuantity(plan, actual)
	default:
		// Numbers: what comes from JSON is a float64.
		return fmt.Sprint(plan) != strconv.FormatFloat(number(actual), 'f', -1, 64)
	}
}

// number is NaN for what is none, which equals no number.
func number(value any) float64 {
	if value, ok := value.(float64); ok {
		return value
	}
	not, _ := strconv.ParseFloat("NaN", 64)
	return not
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case nil:
		return true
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return false
}

func sameQuantity(plan string, actual any) bool {
	text, ok := actual.(string)
	if !ok {
		raw, err := json.Marshal(actual)
		if err != nil {
			return false
		}
		text = string(raw)
	}
	a, b := quantity(plan), quantity(text)
	return a != nil && b != nil && a.Cmp(b) == 0
}

var suffixes = map[string]*big.Rat{
	"n": big.NewRat(1, 1e9), "u": big.NewRat(1, 1e6), "m": big.NewRat(1, 1e3), "": big.NewRat(1, 1),
	"k": big.NewRat(1e3, 1), "M": big.NewRat(1e6, 1), "G": big.NewRat(1e9, 1),
	"T": big.NewRat(1e12, 1), "P": big.NewRat(1e15, 1), "E": big.NewRat(1e18, 1),
	"Ki": big.NewRat(1<<10, 1), "Mi": big.NewRat(1<<20, 1), "Gi": big.NewRat(1<<30, 1),
	"Ti": big.NewRat(1<<40, 1), "Pi": big.NewRat(1<<50, 1), "Ei": big.NewRat(1<<60, 1),
}

// quantity is the value of a Kubernetes quantity, nil for what is none.
func quantity(text string) *big.Rat {
	end := strings.IndexFunc(text, func(r rune) bool { return !strings.ContainsRune("0123456789.+-", r) })
	if end < 0 {
		end = len(text)
	}
	value, ok := new(big.Rat).SetString(text[:end])
	if !ok {
		return nil
	}
	if scale := suffixes[text[end:]]; scale != nil {
		return value.Mul(value, scale)
	}
	// 1e3: three digits at most, so that no exponent asks for a number that fills the memory.
	exponent, err := strconv.ParseInt(strings.TrimLeft(text[end:], "eE"), 10, 8)
	if err != nil || end == 0 || !strings.ContainsAny(text[end:end+1], "eE") {
		return nil
	}
	scale, _ := new(big.Rat).SetString("1e" + strconv.FormatInt(exponent, 10))
	return value.Mul(value, scale)
}

// withoutNulls is what a new object is created from.
func withoutNulls(value any) any {
	switch value := value.(type) {
	case edgeapp.Body:
		out := make(edgeapp.Body, len(value))
		for key, item := range value {
			if item != nil {
				out[key] = withoutNulls(item)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = withoutNulls(value[i])
		}
		return out
	default:
		return value
	}
}

// asMergePatch keeps the nulls of maps, because they remove what is there; lists lose theirs, because
// a merge patch replaces a list as it stands.
func asMergePatch(value any) any {
	body, ok := value.(edgeapp.Body)
	if !ok {
		return withoutNulls(value)
	}
	out := make(edgeapp.Body, len(body))
	for key, item := range body {
		out[key] = asMergePatch(item)
	}
	return out
}
