//! The bodies of throttles, made once per table.

use super::answer::Answer;
use super::model::{Cause, Kind};

const SCALING: &str = "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or \
index so please try again shortly. If exceptions persist, check if you have a hot key: \
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html";
const MAXIMUM: &str = "Throughput exceeds the maximum OnDemandThroughput configured on table or index";
const PROVISIONED: &str = "The level of configured provisioned throughput for the table was exceeded. Consider increasing your \
provisioning level with the UpdateTable API.";
const ACCOUNT: &str = "Throughput exceeds the current throughput limit for your account. Please contact AWS Support at \
https://aws.amazon.com/support request a limit increase";

/// Every refusal a table can give, by kind and cause.
#[derive(Debug)]
pub(super) struct Refusals([[Answer; 4]; 2]);

impl Refusals {
    /// `provisioned`: whether the table has provisioned capacity, whose hot partitions refuse in its exception.
    pub(super) fn new(table_arn: &str, provisioned: bool) -> Self {
        Self(Kind::ALL.map(|kind| Cause::ALL.map(|cause| refusal(table_arn, provisioned, kind, cause))))
    }

    pub(super) fn of(&self, kind: Kind, cause: Cause) -> Answer {
        self.0[kind.index()][cause.index()].clone()
    }
}

fn refusal(table_arn: &str, provisioned: bool, kind: Kind, cause: Cause) -> Answer {
    const THROTTLING: (&str, &str) = ("com.amazon.coral.availability#ThrottlingException", "throttlingReasons");
    const TOO_MUCH: (&str, &str) = ("com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException", "ThrottlingReasons");
    const REQUEST_LIMIT: (&str, &str) = ("com.amazonaws.dynamodb.v20120810#RequestLimitExceeded", "ThrottlingReasons");
    let ((code, member), message, reason) = match cause {
        Cause::KeyRange if provisioned => (TOO_MUCH, PROVISIONED, "KeyRangeThroughputExceeded"),
        Cause::KeyRange => (THROTTLING, SCALING, "KeyRangeThroughputExceeded"),
        Cause::Maximum => (THROTTLING, MAXIMUM, "MaxOnDemandThroughputExceeded"),
        Cause::Provisioned => (TOO_MUCH, PROVISIONED, "ProvisionedThroughputExceeded"),
        Cause::Account => (REQUEST_LIMIT, ACCOUNT, "AccountLimitExceeded"),
    };
    let kind = match kind {
        Kind::Write => "Write",
        Kind::Read => "Read",
    };
    Answer::new(
        400,
        format!(r#"{{"__type":"{code}","message":"{message}","{member}":[{{"reason":"Table{kind}{reason}","resource":"{table_arn}"}}]}}"#),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exception_spells_its_reasons_in_its_own_case() {
        let refusals = Refusals::new("arn:aws:dynamodb:us-east-1:000000000000:table/t", false);
        let read = |kind, cause| -> serde_json::Value { serde_json::from_slice(&refusals.of(kind, cause).body).unwrap() };
        let body = read(Kind::Write, Cause::KeyRange);
        assert_eq!(body["throttlingReasons"][0]["reason"], "TableWriteKeyRangeThroughputExceeded");
        assert_eq!(body["throttlingReasons"][0]["resource"], "arn:aws:dynamodb:us-east-1:000000000000:table/t");
        assert_eq!(read(Kind::Read, Cause::Provisioned)["ThrottlingReasons"][0]["reason"], "TableReadProvisionedThroughputExceeded");
        assert_eq!(read(Kind::Read, Cause::Account)["ThrottlingReasons"][0]["reason"], "TableReadAccountLimitExceeded");
        assert_eq!(read(Kind::Read, Cause::Maximum)["throttlingReasons"][0]["reason"], "TableReadMaxOnDemandThroughputExceeded");
        // The whole body of the on-demand throttle was 367 bytes before there were reasons.
        let old = body.as_object().unwrap().iter().filter(|(name, _)| *name != "throttlingReasons");
        let bare: serde_json::Value = old.map(|(name, value)| (name.clone(), value.clone())).collect::<serde_json::Map<_, _>>().into();
        assert_eq!(bare.to_string().len(), 367);
    }
}
