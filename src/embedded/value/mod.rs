//! Attribute values: reading, checking, measuring, and turning keys into bytes that sort.

mod attribute;
mod key;
mod number;
mod text;

pub(super) use attribute::{Item, Value, decode_binary};
pub(super) use key::{Key, Schema, Type};
pub(super) use number::Number;
pub(super) use text::Text;
