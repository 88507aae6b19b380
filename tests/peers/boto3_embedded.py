"""Holds a running embedded endpoint against boto3: python boto3_embedded.py http://127.0.0.1:8000

Prints "N passed", or fails on the first thing that boto3 does not get as DynamoDB would give it. Wants a profile whose
tables hold one second of burst, such as `fresh`.
"""

import sys
import threading
import time
import urllib.request
import json
import zlib

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ENDPOINT = sys.argv[1]
TABLE = "peer.boto3-%d" % time.time_ns()
PASSED = 0


CHECKSUMS = []


def checksum(response_dict, **_):
    CHECKSUMS.append(str(zlib.crc32(response_dict["body"])) == response_dict["headers"].get("x-amz-crc32"))


def connect():
    """A client that retries nothing behind our back. In legacy mode botocore raises on a wrong checksum instead of
    passing it over when no attempts are left; every body is summed here as well."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=ENDPOINT,
        region_name="us-east-1",
        aws_access_key_id="local",
        aws_secret_access_key="local",
        config=Config(retries={"total_max_attempts": 1, "mode": "legacy"}, max_pool_connections=32),
    )
    client.meta.events.register("before-parse.dynamodb", checksum)
    return client


def check(what, holds, shown=None):
    global PASSED
    if not holds:
        sys.exit("FAILED: %s: %r" % (what, shown))
    PASSED += 1


def refused(code, call, **arguments):
    """The error that the call must end with."""
    try:
        answer = call(**arguments)
    except ClientError as error:
        check("%s is refused with %s" % (call.__name__, code), error.response["Error"]["Code"] == code, error.response)
        check("with HTTP 400", error.response["ResponseMetadata"]["HTTPStatusCode"] == 400, error.response)
        return error.response
    sys.exit("FAILED: %s was not refused but answered %r" % (call.__name__, answer))


def wait_for(what, holds, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():
            check(what, True)
            return
        time.sleep(0.05)
    sys.exit("FAILED: waited %d s for: %s" % (seconds, what))


def exists(client):
    try:
        client.describe_table(TableName=TABLE)
        return True
    except client.exceptions.ResourceNotFoundException:
        return False


def lifecycle_begins(client):
    refused("ResourceNotFoundException", client.describe_table, TableName=TABLE)
    refused("ValidationException", client.create_table, TableName=TABLE, AttributeDefinitions=[], KeySchema=[
        {"AttributeName": "pk", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST")
    made = client.create_table(
        TableName=TABLE,
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}, {"AttributeName": "sk", "AttributeType": "N"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
        BillingMode="PAY_PER_REQUEST",
        Tags=[{"Key": "throttlescope:session", "Value": "peer"}],
    )["TableDescription"]
    check("a new table is CREATING", made["TableStatus"] == "CREATING", made)
    check("it has a creation time", made["CreationDateTime"].year >= 2024, made)
    check("its ARN names no account", made["TableArn"].split(":")[4] == "000000000000", made)
    refused("ResourceInUseException", client.create_table, TableName=TABLE, AttributeDefinitions=[
        {"AttributeName": "pk", "AttributeType": "S"}], KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}], BillingMode="PAY_PER_REQUEST")
    refused("ResourceNotFoundException", client.put_item, TableName=TABLE, Item={"pk": {"S": "a"}, "sk": {"N": "1"}})
    refused("ResourceInUseException", client.delete_table, TableName=TABLE)
    wait_for("it becomes ACTIVE", lambda: client.describe_table(TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
    active = client.describe_table(TableName=TABLE)["Table"]
    check("its warm throughput is a fresh table's", active["WarmThroughput"] == {
        "ReadUnitsPerSecond": 12000, "WriteUnitsPerSecond": 4000, "Status": "ACTIVE"}, active)
    check("it is on-demand", active["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST", active)
    check("it is listed", TABLE in client.list_tables()["TableNames"])
    check("its tags are kept", client.list_tags_of_resource(ResourceArn=active["TableArn"])["Tags"] == [
        {"Key": "throttlescope:session", "Value": "peer"}])
    client.tag_resource(ResourceArn=active["TableArn"], Tags=[{"Key": "more", "Value": "1"}])
    client.untag_resource(ResourceArn=active["TableArn"], TagKeys=["more"])
    check("limits are the account's", client.describe_limits()["TableMaxWriteCapacityUnits"] == 40000)


def items(client):
    answer = client.put_item(TableName=TABLE, Item={"pk": {"S": "a"}, "sk": {"N": "1"}, "v": {"S": "x" * 1000}}, ReturnConsumedCapacity="TOTAL")
    check("a small item costs one unit", answer["ConsumedCapacity"] == {"TableName": TABLE, "CapacityUnits": 1.0}, answer)
    headers = answer["ResponseMetadata"]["HTTPHeaders"]
    check("the answer carries a checksum", headers["x-amz-crc32"].isdigit(), headers)
    check("and a request id", len(answer["ResponseMetadata"]["RequestId"]) == 52, headers)
    plain = client.put_item(TableName=TABLE, Item={"pk": {"S": "a"}, "sk": {"N": "2"}})["ResponseMetadata"]["HTTPHeaders"]
    check("the checksum of {} is known", plain["x-amz-crc32"] == "2745614147" == str(zlib.crc32(b"{}")), plain)

    key = {"pk": {"S": "a"}, "sk": {"N": "1.0"}}
    got = client.get_item(TableName=TABLE, Key=key, ReturnConsumedCapacity="INDEXES")
    check("an item is read back", got["Item"]["v"]["S"] == "x" * 1000, got)
    check("at half a unit", got["ConsumedCapacity"]["Table"] == {"CapacityUnits": 0.5}, got)
    strong = client.get_item(TableName=TABLE, Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL", ProjectionExpression="sk")
    check("or a whole one", strong["ConsumedCapacity"]["CapacityUnits"] == 1.0 and strong["Item"] == {"sk": {"N": "1"}}, strong)
    check("a missing item is none", "Item" not in client.get_item(TableName=TABLE, Key={"pk": {"S": "no"}, "sk": {"N": "1"}}))

    updated = client.update_item(TableName=TABLE, Key=key, UpdateExpression="SET #n = :n, w = if_not_exists(w, :w) REMOVE v ADD hits :n",
                                 ExpressionAttributeNames={"#n": "n"}, ExpressionAttributeValues={":n": {"N": "2"}, ":w": {"BOOL": True}},
                                 ReturnValues="ALL_NEW")
    check("an update is made", updated["Attributes"] == {"pk": {"S": "a"}, "sk": {"N": "1"}, "n": {"N": "2"}, "w": {"BOOL": True},
                                                         "hits": {"N": "2"}}, updated)
    refused("ConditionalCheckFailedException", client.put_item, TableName=TABLE, Item=key, ConditionExpression="attribute_not_exists(pk)")
    client.put_item(TableName=TABLE, Item=key, ConditionExpression="attribute_exists(pk) AND n = :n", ExpressionAttributeValues={":n": {"N": "2"}})

    wrong = refused("ValidationException", client.put_item, TableName=TABLE, Item={"pk": {"S": "a"}})
    check("the missing key is named", wrong["Error"]["Message"].endswith("Missing the key sk in the item"), wrong)
    refused("ValidationException", client.get_item, TableName=TABLE, Key={"pk": {"S": "a"}})
    large = refused("ValidationException", client.put_item, TableName=TABLE, Item=dict(key, v={"S": "x" * 410_000}))
    check("too large an item is refused", large["Error"]["Message"] == "Item size has exceeded the maximum allowed size", large)
    old = client.delete_item(TableName=TABLE, Key=key, ReturnValues="ALL_OLD")
    check("a deletion gives the old item", old["Attributes"]["pk"] == {"S": "a"}, old)


def batches_and_queries(client):
    puts = [{"PutRequest": {"Item": {"pk": {"S": "q"}, "sk": {"N": str(n)}, "b": {"B": bytes([n + 20])}}}} for n in range(-5, 20)]
    written = client.batch_write_item(RequestItems={TABLE: puts}, ReturnConsumedCapacity="TOTAL")
    check("a batch is written", written["UnprocessedItems"] == {}, written)
    check("and paid per item", written["ConsumedCapacity"] == [{"TableName": TABLE, "CapacityUnits": 25.0}], written)
    refused("ValidationException", client.batch_write_item, RequestItems={TABLE: puts[:1] * 2})
    read = client.batch_get_item(RequestItems={TABLE: {"Keys": [{"pk": {"S": "q"}, "sk": {"N": str(n)}} for n in (3, 4, 99)]}})
    check("a batch is read", sorted(item["sk"]["N"] for item in read["Responses"][TABLE]) == ["3", "4"] and read["UnprocessedKeys"] == {}, read)

    def query(condition, values, **more):
        return client.query(TableName=TABLE, KeyConditionExpression="pk = :p" + condition,
                            ExpressionAttributeValues=dict({":p": {"S": "q"}}, **values), **more)

    def sorts(answer):
        return [int(item["sk"]["N"]) for item in answer["Items"]]

    check("a query is in order", sorts(query("", {})) == list(range(-5, 20)))
    check("binary values survive", query(" AND sk = :s", {":s": {"N": "-5"}})["Items"][0]["b"]["B"] == bytes([15]))
    check("backwards too", sorts(query(" AND sk < :s", {":s": {"N": "0"}}, ScanIndexForward=False)) == [-1, -2, -3, -4, -5])
    check("a range", sorts(query(" AND sk BETWEEN :a AND :b", {":a": {"N": "-1"}, ":b": {"N": "1"}})) == [-1, 0, 1])
    pages, start = [], {}
    while True:
        page = query("", {}, Limit=10, **start)
        pages.append(sorts(page))
        if "LastEvaluatedKey" not in page:
            break
        start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}
    check("pages join up", [n for page in pages for n in page] == list(range(-5, 20)), pages)
    check("a paginator agrees", sum(page["Count"] for page in client.get_paginator("query").paginate(
        TableName=TABLE, KeyConditionExpression="pk = :p", ExpressionAttributeValues={":p": {"S": "q"}}, PaginationConfig={"PageSize": 7})) == 25)
    refused("ValidationException", client.query, TableName=TABLE, KeyConditionExpression="sk = :p", ExpressionAttributeValues={":p": {"N": "1"}})


def hammer(key, until):
    """Writes one key from several threads until the first throttle; its response."""
    throttles, stop, errors = [], threading.Event(), []

    def write():
        client = connect()
        while not stop.is_set():
            try:
                # Items of 100 KB, so that a slow client can empty a bucket of 1,000 units too.
                client.put_item(TableName=TABLE, Item=dict(key, v={"S": "x" * 100_000}))
            except ClientError as error:
                (throttles if until(error) else errors).append(error.response)
                stop.set()

    threads = [threading.Thread(target=write) for _ in range(8)]
    [thread.start() for thread in threads]
    deadline = time.monotonic() + 60
    while not stop.wait(0.1) and time.monotonic() < deadline:
        pass
    stop.set()
    [thread.join() for thread in threads]
    check("a hot key is throttled", throttles and not errors, errors)
    return throttles[0]


def throttles(client):
    hot = {"pk": {"S": "hot"}, "sk": {"N": "0"}}
    response = hammer(hot, lambda error: isinstance(error, client.exceptions.ThrottlingException))
    arn = "arn:aws:dynamodb:us-east-1:000000000000:table/" + TABLE
    check("its code", response["Error"]["Code"] == "ThrottlingException", response)
    check("its status", response["ResponseMetadata"]["HTTPStatusCode"] == 400, response)
    check("its message", response["Error"]["Message"].startswith("Throughput exceeds the current capacity of your table or index."), response)
    check("its reasons", response["throttlingReasons"] == [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": arn}], response)

    client.update_table(TableName=TABLE, OnDemandThroughput={"MaxWriteRequestUnits": 50})
    wait_for("the table is ACTIVE again", lambda: client.describe_table(TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
    response = hammer(hot, lambda error: isinstance(error, client.exceptions.ThrottlingException))
    check("a maximum has its own reason", response["throttlingReasons"][0]["reason"] == "TableWriteMaxOnDemandThroughputExceeded", response)
    check("and message", response["Error"]["Message"] == "Throughput exceeds the maximum OnDemandThroughput configured on table or index", response)

    client.update_table(TableName=TABLE, BillingMode="PROVISIONED", ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 5})
    wait_for("the table is ACTIVE once more", lambda: client.describe_table(TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
    response = hammer(hot, lambda error: isinstance(error, client.exceptions.ProvisionedThroughputExceededException))
    check("provisioned capacity has its own reason", response["ThrottlingReasons"][0] == {
        "reason": "TableWriteProvisionedThroughputExceeded", "resource": arn}, response)

    ledger = json.load(urllib.request.urlopen(ENDPOINT + "/throttlescope/ledger?table=" + TABLE))
    check("the ledger adds up", ledger["accepted"] == sum(p["accepted"] for p in ledger["per_partition"]) > 0, ledger)
    check("and has the throttles", ledger["throttled"] >= 3, ledger)


def lifecycle_ends(client):
    client.update_table(TableName=TABLE, DeletionProtectionEnabled=True)
    wait_for("the table is ACTIVE", lambda: client.describe_table(TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
    refused("ValidationException", client.delete_table, TableName=TABLE)
    client.update_table(TableName=TABLE, DeletionProtectionEnabled=False)
    wait_for("the table is ACTIVE", lambda: client.describe_table(TableName=TABLE)["Table"]["TableStatus"] == "ACTIVE")
    check("it is DELETING", client.delete_table(TableName=TABLE)["TableDescription"]["TableStatus"] == "DELETING")
    wait_for("it is gone", lambda: not exists(client))
    refused("ResourceNotFoundException", client.delete_table, TableName=TABLE)


def main():
    client = connect()
    lifecycle_begins(client)
    try:
        items(client)
        batches_and_queries(client)
        throttles(client)
        lifecycle_ends(client)
    finally:
        if exists(client):
            client.delete_table(TableName=TABLE)
    check("every checksum was right", len(CHECKSUMS) > PASSED / 2 and all(CHECKSUMS), CHECKSUMS.count(False))
    print("%d passed" % PASSED)


main()
