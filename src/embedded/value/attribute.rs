//! Attribute values and items as the protocol writes them.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::number::Number;
use super::text::Text;
use crate::embedded::answer::Problem;

const EMPTY: &str = "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes";
const SEVERAL: &str = "Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes";
/// Levels that documents may be nested.
const DEEPEST: u32 = 32;

/// One attribute value.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::embedded) enum Value<'a> {
    S(Text<'a>),
    N(Text<'a>),
    /// Base64.
    B(Text<'a>),
    Bool(bool),
    Null(bool),
    M(Item<'a>),
    L(Vec<Value<'a>>),
    Ss(Vec<Text<'a>>),
    Ns(Vec<Text<'a>>),
    Bs(Vec<Text<'a>>),
    /// Not an attribute value, and why.
    Invalid(&'static str),
}

/// Named attribute values, in the order they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::embedded) struct Item<'a>(pub(in crate::embedded) Vec<(Text<'a>, Value<'a>)>);

impl<'a> Item<'a> {
    pub(in crate::embedded) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.0.iter().find(|(other, _)| &**other == name).map(|(_, value)| value)
    }

    /// Sets an attribute, or removes it.
    pub(in crate::embedded) fn set(&mut self, name: &str, value: Option<Value<'a>>) {
        let place = self.0.iter().position(|(other, _)| &**other == name);
        match (place, value) {
            (Some(place), Some(value)) => self.0[place].1 = value,
            (Some(place), None) => {
                self.0.remove(place);
            }
            (None, Some(value)) => self.0.push((Text::owned(name), value)),
            (None, None) => {}
        }
    }

    /// Size as DynamoDB counts it: names and values, in bytes.
    pub(in crate::embedded) fn bytes(&self) -> u64 {
        self.0.iter().map(|(name, value)| name.len() as u64 + value.bytes()).sum()
    }

    /// Finds what is wrong with any of the values.
    pub(in crate::embedded) fn check(&self) -> Result<(), Problem> {
        self.0.iter().try_for_each(|(_, value)| value.check(1))
    }
}

impl Value<'_> {
    /// The name of its type.
    pub(in crate::embedded) const fn type_name(&self) -> &'static str {
        match self {
            Self::S(_) => "S",
            Self::N(_) => "N",
            Self::B(_) => "B",
            Self::Bool(_) => "BOOL",
            Self::Null(_) => "NULL",
            Self::M(_) => "M",
            Self::L(_) => "L",
            Self::Ss(_) => "SS",
            Self::Ns(_) => "NS",
            Self::Bs(_) => "BS",
            Self::Invalid(_) => "unknown",
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::S(text) => text.len() as u64,
            Self::N(text) => number_bytes(text),
            Self::B(text) => binary_bytes(text),
            Self::Bool(_) | Self::Null(_) => 1,
            Self::M(item) => 3 + item.bytes() + item.0.len() as u64,
            Self::L(values) => 3 + values.iter().map(|value| 1 + value.bytes()).sum::<u64>(),
            Self::Ss(texts) => texts.iter().map(|text| text.len() as u64).sum(),
            Self::Ns(texts) => texts.iter().map(|text| number_bytes(text)).sum(),
            Self::Bs(texts) => texts.iter().map(|text| binary_bytes(text)).sum(),
            Self::Invalid(_) => 0,
        }
    }

    /// Finds what is wrong with it, `depth` levels down.
    pub(in crate::embedded) fn check(&self, depth: u32) -> Result<(), Problem> {
        if depth > DEEPEST {
            return Err(Problem::validation("Nesting Levels have exceeded supported limits"));
        }
        match self {
            Self::S(_) | Self::Bool(_) | Self::Null(true) => Ok(()),
            Self::N(text) => Number::parse(text).map(|_| ()).map_err(Problem::validation),
            Self::B(text) => check_binary(text),
            Self::Null(false) => Err(Problem::validation(
                "One or more parameter values were invalid: Null attribute value types must have the value of true",
            )),
            Self::M(item) => item.0.iter().try_for_each(|(_, value)| value.check(depth + 1)),
            Self::L(values) => values.iter().try_for_each(|value| value.check(depth + 1)),
            Self::Ss(texts) => check_set(texts, "string", |_| Ok(())),
            Self::Ns(texts) => check_set(texts, "number", |text| Number::parse(text).map(|_| ()).map_err(Problem::validation)),
            Self::Bs(texts) => check_set(texts, "binary", check_binary),
            Self::Invalid(why) => Err(Problem::validation(*why)),
        }
    }
}

fn number_bytes(text: &str) -> u64 {
    let digits = text.bytes().filter(u8::is_ascii_digit).count() as u64;
    1 + digits.div_ceil(2)
}

fn binary_bytes(text: &str) -> u64 {
    let padding = text.bytes().rev().take_while(|byte| *byte == b'=').count() as u64;
    (text.len() as u64 / 4 * 3).saturating_sub(padding)
}

/// The bytes of a Base64 text.
pub(in crate::embedded) fn decode_binary(text: &str) -> Result<Vec<u8>, Problem> {
    STANDARD.decode(text).map_err(|error| Problem::serialization(format!("a binary value is not Base64: {error}")))
}

fn check_binary(text: &Text<'_>) -> Result<(), Problem> {
    decode_binary(text).map(|_| ())
}

fn check_set(texts: &[Text<'_>], kind: &str, check: impl Fn(&Text<'_>) -> Result<(), Problem>) -> Result<(), Problem> {
    if texts.is_empty() {
        return Err(Problem::validation(format!("One or more parameter values were invalid: An {kind} set  may not be empty")));
    }
    texts.iter().try_for_each(check)?;
    let mut sorted: Vec<&str> = texts.iter().map(|text| &**text).collect();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let shown: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let shown = shown.join(", ");
        return Err(Problem::validation(format!(
            "One or more parameter values were invalid: Input collection [{shown}] contains duplicates."
        )));
    }
    Ok(())
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an attribute value such as {\"S\": \"text\"}")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value<'de>, A::Error> {
        let Some(tag) = map.next_key::<Text<'de>>()? else { return Ok(Value::Invalid(EMPTY)) };
        let value = match &*tag {
            "S" => Value::S(map.next_value()?),
            "N" => Value::N(map.next_value()?),
            "B" => Value::B(map.next_value()?),
            "BOOL" => Value::Bool(map.next_value()?),
            "NULL" => Value::Null(map.next_value()?),
            "M" => Value::M(map.next_value()?),
            "L" => Value::L(map.next_value()?),
            "SS" => Value::Ss(map.next_value()?),
            "NS" => Value::Ns(map.next_value()?),
            "BS" => Value::Bs(map.next_value()?),
            _ => {
                map.next_value::<IgnoredAny>()?;
                Value::Invalid(EMPTY)
            }
        };
        let mut several = false;
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            several = true;
        }
        Ok(if several { Value::Invalid(SEVERAL) } else { value })
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Value<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ValueVisitor)
    }
}

struct ItemVisitor;

impl<'de> Visitor<'de> for ItemVisitor {
    type Value = Item<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of attribute names to attribute values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Item<'de>, A::Error> {
        let mut entries = Vec::with_capacity(4);
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Item(entries))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Item<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ItemVisitor)
    }
}

impl Serialize for Item<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(1))?;
        let tag = self.type_name();
        match self {
            Self::S(text) | Self::N(text) | Self::B(text) => map.serialize_entry(tag, text)?,
            Self::Bool(flag) | Self::Null(flag) => map.serialize_entry(tag, flag)?,
            Self::M(item) => map.serialize_entry(tag, item)?,
            Self::L(values) => map.serialize_entry(tag, values)?,
            Self::Ss(texts) | Self::Ns(texts) | Self::Bs(texts) => map.serialize_entry(tag, texts)?,
            Self::Invalid(_) => {}
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str) -> Item<'_> {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_item_comes_back_as_it_was_written() {
        let json = r#"{"a":{"S":"x\ny"},"b":{"N":"1.50"},"c":{"M":{"d":{"L":[{"BOOL":true},{"NULL":true}]}}},"e":{"SS":["p","q"]},"f":{"B":"AAE="}}"#;
        let read = item(json);
        read.check().unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), json);
    }

    #[test]
    fn sizes_are_names_and_values_in_bytes() {
        for (json, bytes) in [
            (r#"{"id":{"S":"abc"}}"#, 5),
            (r#"{"é":{"S":"é"}}"#, 4),
            (r#"{"n":{"N":"123"}}"#, 4),
            (r#"{"b":{"BOOL":false},"z":{"NULL":true}}"#, 4),
            (r#"{"b":{"B":"AAEC"}}"#, 4),
            (r#"{"l":{"L":[{"S":"a"},{"S":"b"}]}}"#, 1 + 3 + 2 + 2),
            (r#"{"m":{"M":{"k":{"S":"v"}}}}"#, 1 + 3 + 1 + 2),
            (r#"{"s":{"SS":["ab","c"]}}"#, 4),
        ] {
            assert_eq!(item(json).bytes(), bytes, "{json}");
        }
    }

    #[test]
    fn what_is_not_one_value_is_called_so() {
        let message = |json: &str| item(json).check().unwrap_err().message().to_owned();
        assert_eq!(message(r#"{"a":{}}"#), EMPTY);
        assert_eq!(message(r#"{"a":{"X":[1,{"y":2}]}}"#), EMPTY);
        assert_eq!(message(r#"{"a":{"S":"a","N":"1"}}"#), SEVERAL);
        assert!(message(r#"{"a":{"N":"one"}}"#).contains("numeric value: one"));
        assert!(message(r#"{"a":{"SS":[]}}"#).contains("may not be empty"));
        assert!(message(r#"{"a":{"NS":["1","1"]}}"#).contains("[1, 1] contains duplicates"));
        let deep = format!(r#"{{"a":{}{{"S":"x"}}{}}}"#, r#"{"L":["#.repeat(40), "]}".repeat(40));
        assert!(message(&deep).contains("Nesting Levels"));
    }
}
