//go:build !goexperiment.jsonv2

package storeless

import "encoding/json"

// unmarshal decodes with the package that every release of Go has.
func unmarshal(raw []byte, into any) error { return json.Unmarshal(raw, into) }
