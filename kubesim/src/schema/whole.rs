//! Numbers in the form in which the real server stores them: Go writes `3.0` and `3e2` as `3` and `300`.

use serde_json::{Value, json};

/// Beyond it not every integer has a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

pub(crate) fn whole_numbers(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            let whole = number
                .as_f64()
                .filter(|n| n.fract() == 0.0 && n.abs() <= EXACT);
            if let Some(whole) = whole {
                *value = json!(whole as i64);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(whole_numbers),
        Value::Object(map) => map.values_mut().for_each(whole_numbers),
        _ => {}
    }
}
