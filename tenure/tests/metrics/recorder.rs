//! A recorder that keeps everything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};

/// A metric as it was described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Description {
    pub(crate) kind: &'static str,
    pub(crate) unit: String,
    pub(crate) meaning: String,
}

/// A series: its labels and their values.
pub(crate) type Labels = BTreeMap<String, String>;

/// The last value of a gauge, the sum of a counter, and the sum of a histogram's values.
#[derive(Debug, Default)]
struct Value(Mutex<f64>);

impl Value {
    fn add(&self, by: f64) {
        *self.0.lock().unwrap() += by;
    }
}

impl CounterFn for Value {
    fn increment(&self, by: u64) {
        self.add(f64::from(u32::try_from(by).unwrap()));
    }

    fn absolute(&self, _: u64) {
        unreachable!("counters are only incremented")
    }
}

impl GaugeFn for Value {
    fn increment(&self, by: f64) {
        self.add(by);
    }

    fn decrement(&self, by: f64) {
        self.add(-by);
    }

    fn set(&self, value: f64) {
        *self.0.lock().unwrap() = value;
    }
}

impl HistogramFn for Value {
    fn record(&self, value: f64) {
        self.add(value);
    }
}

/// The described and recorded values. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Kept(Arc<Mutex<Everything>>);

#[derive(Default)]
struct Everything {
    described: BTreeMap<String, Description>,
    values: BTreeMap<(String, Labels), Arc<Value>>,
}

impl Kept {
    pub(crate) fn described(&self) -> BTreeMap<String, Description> {
        self.0.lock().unwrap().described.clone()
    }

    pub(crate) fn series(&self) -> Vec<(String, Labels)> {
        self.0.lock().unwrap().values.keys().cloned().collect()
    }

    /// The sum over all series of that name with that class; `None` if there is none.
    pub(crate) fn value(&self, name: &str, class: &str) -> Option<f64> {
        let everything = self.0.lock().unwrap();
        let of_class = everything.values.iter().filter(|((one, labels), _)| {
            one == name && labels.get("key_class").is_none_or(|one| one == class)
        });
        let values: Vec<f64> = of_class.map(|(_, value)| *value.0.lock().unwrap()).collect();
        (!values.is_empty()).then(|| values.iter().sum())
    }

    fn describe(&self, kind: &'static str, name: &KeyName, unit: Option<Unit>, meaning: &str) {
        let unit = unit.map(|unit| unit.as_str().to_owned()).unwrap_or_default();
        let description = Description { kind, unit, meaning: meaning.to_owned() };
        self.0.lock().unwrap().described.insert(name.as_str().to_owned(), description);
    }

    fn keep(&self, key: &Key) -> Arc<Value> {
        let label = |label: &metrics::Label| (label.key().to_owned(), label.value().to_owned());
        let labels = key.labels().map(label).collect();
        let mut everything = self.0.lock().unwrap();
        Arc::clone(everything.values.entry((key.name().to_owned(), labels)).or_default())
    }
}

impl Recorder for Kept {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.describe("counter", &name, unit, &meaning);
    }

    fn describe_gauge(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.describe("gauge", &name, unit, &meaning);
    }

    fn describe_histogram(&self, name: KeyName, unit: Option<Unit>, meaning: SharedString) {
        self.describe("histogram", &name, unit, &meaning);
    }

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.keep(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.keep(key))
    }

    fn register_histogram(&self, key: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(self.keep(key))
    }
}
