//go:build goexperiment.jsonv2

package storeless

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
)

// lenient as encoding/json: the API server has checked what it stores, and one odd string must not
// cost an object.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// unmarshal decodes with encoding/json/v2, in one pass and without a map of the names seen; built
// with GOEXPERIMENT=jsonv2.
func unmarshal(raw []byte, into any) error { return json.Unmarshal(raw, into, lenient) }
