//! A small map. A run has few tokens and few candidates, and most lookups are for the newest: a
//! search from the end of a list is faster than a tree.

/// Keys and their values, the newest last.
#[derive(Clone, Debug)]
pub(crate) struct Recent<K, V>(Vec<(K, V)>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Copy + PartialEq, V: Default> Recent<K, V> {
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.0.iter().rev().find(|(known, _)| *known == key).map(|(_, value)| value)
    }

    /// The value of that key, which is inserted if there was none.
    pub(crate) fn of(&mut self, key: K) -> &mut V {
        let place = self.place(key).unwrap_or_else(|| {
            self.0.push((key, V::default()));
            self.0.len() - 1
        });
        &mut self.0[place].1
    }

    /// Sets the value of that key, and returns the former one.
    pub(crate) fn insert(&mut self, key: K, value: V) -> Option<V> {
        if let Some(place) = self.place(key) {
            return Some(std::mem::replace(&mut self.0[place].1, value));
        }
        self.0.push((key, value));
        None
    }

    pub(crate) fn remove(&mut self, key: K) -> Option<V> {
        self.place(key).map(|place| self.0.swap_remove(place).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(K, V)> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut (K, V)> {
        self.0.iter_mut()
    }

    pub(crate) fn retain(&mut self, keep: impl Fn(K) -> bool) {
        self.0.retain(|(key, _)| keep(*key));
    }

    fn place(&self, key: K) -> Option<usize> {
        self.0.iter().rposition(|(known, _)| *known == key)
    }
}

#[cfg(test)]
mod tests {
    use super::Recent;

    #[test]
    fn each_key_is_stored_once() {
        let mut map = Recent::<u64, u32>::default();
        assert_eq!(map.get(7), None);
        assert_eq!((map.insert(7, 1), map.insert(7, 2)), (None, Some(1)));
        *map.of(8) += 3;
        *map.of(8) += 3;
        assert_eq!((map.get(7), map.get(8), map.iter().count()), (Some(&2), Some(&6), 2));
        assert_eq!((map.remove(7), map.remove(7)), (Some(2), None));
        assert_eq!(map.get(8), Some(&6));
    }
}
