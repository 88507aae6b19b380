//! Primary keys: which attributes they are, and their bytes.

use super::attribute::{Item, Value, decode_binary};
use super::number::Number;
use crate::embedded::answer::Problem;
use crate::embedded::model::KeyHash;

/// Most bytes of a partition key and of a sort key.
const LONGEST: [usize; 2] = [2_048, 1_024];

/// The type of a key attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::embedded) enum Type {
    S,
    N,
    B,
}

impl Type {
    pub(in crate::embedded) fn parse(name: &str) -> Option<Self> {
        match name {
            "S" => Some(Self::S),
            "N" => Some(Self::N),
            "B" => Some(Self::B),
            _ => None,
        }
    }

    pub(in crate::embedded) const fn name(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::N => "N",
            Self::B => "B",
        }
    }
}

/// The key attributes of a table.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::embedded) struct Schema {
    pub(in crate::embedded) partition: (String, Type),
    pub(in crate::embedded) sort: Option<(String, Type)>,
}

/// A primary key. Its bytes begin with those of the partition key, and sort by sort key within one partition key.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::embedded) struct Key {
    pub(in crate::embedded) bytes: Vec<u8>,
    pub(in crate::embedded) hash: KeyHash,
}

impl Schema {
    /// Names of the key attributes.
    pub(in crate::embedded) fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.partition.0.as_str()).chain(self.sort.iter().map(|(name, _)| name.as_str()))
    }

    /// The key of an item.
    pub(in crate::embedded) fn key_of_item(&self, item: &Item<'_>) -> Result<Key, Problem> {
        let invalid = |what: String| Problem::validation(format!("One or more parameter values were invalid: {what}"));
        let part = |name: &str, expected: Type| {
            let value = item.get(name).ok_or_else(|| invalid(format!("Missing the key {name} in the item")))?;
            if value.type_name() == expected.name() {
                Ok(value)
            } else {
                let (expected, actual) = (expected.name(), value.type_name());
                Err(invalid(format!("Type mismatch for key {name} expected: {expected} actual: {actual}")))
            }
        };
        let partition = part(&self.partition.0, self.partition.1)?;
        let sort = self.sort.as_ref().map(|(name, expected)| part(name, *expected)).transpose()?;
        self.key_of(partition, sort)
    }

    /// The key given as a `Key` member, which must hold the key attributes and nothing else.
    pub(in crate::embedded) fn key_of_key(&self, key: &Item<'_>) -> Result<Key, Problem> {
        key.check()?;
        let mismatch = || Problem::validation("The provided key element does not match the schema");
        let part =
            |(name, expected): &(String, Type)| key.get(name).filter(|value| value.type_name() == expected.name()).ok_or_else(mismatch);
        if key.0.len() != self.names().count() {
            return Err(mismatch());
        }
        self.key_of(part(&self.partition)?, self.sort.as_ref().map(part).transpose()?)
    }

    /// The bytes that every key with this partition key begins with.
    pub(in crate::embedded) fn partition_key(&self, value: &Value<'_>) -> Result<Key, Problem> {
        let plain = scalar_bytes(value)?;
        check_length(&self.partition.0, 0, &plain)?;
        let hash = KeyHash::of(&plain);
        let mut bytes = Vec::with_capacity(plain.len() + 4);
        bytes.extend_from_slice(&(plain.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&plain);
        Ok(Key { bytes, hash })
    }

    /// The bytes of a sort key value.
    pub(in crate::embedded) fn sort_key(value: &Value<'_>) -> Result<Vec<u8>, Problem> {
        scalar_bytes(value)
    }

    fn key_of(&self, partition: &Value<'_>, sort: Option<&Value<'_>>) -> Result<Key, Problem> {
        let mut key = self.partition_key(partition)?;
        if let (Some(value), Some((name, _))) = (sort, &self.sort) {
            let plain = scalar_bytes(value)?;
            check_length(name, 1, &plain)?;
            key.bytes.extend_from_slice(&plain);
        }
        Ok(key)
    }
}

fn check_length(name: &str, place: usize, plain: &[u8]) -> Result<(), Problem> {
    if plain.is_empty() {
        return Err(Problem::validation(format!(
            "One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: {name}"
        )));
    }
    if plain.len() > LONGEST[place] {
        let (kind, most) = (["hashkey", "rangekey"][place], LONGEST[place]);
        return Err(Problem::validation(format!(
            "One or more parameter values were invalid: Size of {kind} has exceeded the maximum size limit of{most} bytes"
        )));
    }
    Ok(())
}

/// Bytes of a scalar that sort as the scalars of one type do.
fn scalar_bytes(value: &Value<'_>) -> Result<Vec<u8>, Problem> {
    match value {
        Value::S(text) => Ok(text.as_bytes().to_vec()),
        Value::N(text) => {
            let mut bytes = Vec::with_capacity(44);
            Number::parse(text).map_err(Problem::validation)?.encode(&mut bytes);
            Ok(bytes)
        }
        Value::B(text) => decode_binary(text),
        _ => Err(Problem::validation("The provided key element does not match the schema")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> Schema {
        Schema { partition: ("pk".to_owned(), Type::S), sort: Some(("sk".to_owned(), Type::N)) }
    }

    fn key(json: &str) -> Result<Key, Problem> {
        schema().key_of_item(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn keys_sort_by_sort_key_within_a_partition_key() {
        let of = |n: &str| key(&format!(r#"{{"pk":{{"S":"a"}},"sk":{{"N":"{n}"}}}}"#)).unwrap();
        let keys = ["-200", "-3", "-0.5", "0", "0.25", "3", "20", "1e3"].map(of);
        assert!(keys.windows(2).all(|pair| pair[0].bytes < pair[1].bytes));
        assert!(keys.iter().all(|key| key.hash == keys[0].hash), "the sort key does not choose the partition");
        assert_eq!(of("1.0"), of("1"));
    }

    #[test]
    fn a_key_that_is_missing_or_of_another_type_is_named() {
        let message = |json: &str| key(json).unwrap_err().message().to_owned();
        assert!(message(r#"{"pk":{"S":"a"}}"#).ends_with("Missing the key sk in the item"));
        assert!(message(r#"{"pk":{"N":"1"},"sk":{"N":"1"}}"#).ends_with("Type mismatch for key pk expected: S actual: N"));
        assert!(message(r#"{"pk":{"S":""},"sk":{"N":"1"}}"#).ends_with("empty string value. Key: pk"));
        let long = format!(r#"{{"pk":{{"S":"{}"}},"sk":{{"N":"1"}}}}"#, "x".repeat(2_049));
        assert!(message(&long).ends_with("limit of2048 bytes"));
    }
}
