//! Results: each is one line on the console, a JSON object.

use crate::bench::Bench;
use userlib::{print, println};

/// The value of a parameter.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A word.
    Text(&'static str),
    /// A number.
    Number(usize),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text)
    }
}

impl From<usize> for Value {
    fn from(number: usize) -> Self {
        Self::Number(number)
    }
}

impl Bench {
    /// Reports the cost of an operation, counted in instructions or cycles.
    pub fn report(&self, operation: &str, parameters: &[(&str, Value)], samples: &[usize]) {
        self.report_as(operation, parameters, "count", samples);
    }

    /// Reports the cost of an operation, in any unit.
    pub fn report_as(
        &self,
        operation: &str,
        parameters: &[(&str, Value)],
        unit: &str,
        samples: &[usize],
    ) {
        let suite = self.suite;
        print!("{{\"suite\":\"{suite}\",\"operation\":\"{operation}\",\"parameters\":{{");
        for (index, (name, value)) in parameters.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            match value {
                Value::Text(text) => print!("{comma}\"{name}\":\"{text}\""),
                Value::Number(number) => print!("{comma}\"{name}\":{number}"),
            }
        }
        print!("}},\"unit\":\"{unit}\",\"samples\":[");
        for (index, sample) in samples.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            print!("{comma}{sample}");
        }
        println!("]}}");
    }
}
