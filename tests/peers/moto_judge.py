"""Serves moto with authentication on: python moto_judge.py ADDRESS TABLE

Creates a table, a user with the permissions that the README lists, and one without any; then verifies every signature
and permission. Prints one line of JSON with its address and both users' keys, and serves until its standard input ends.
"""

import json
import sys
import urllib.request

import boto3
from moto.server import ThreadedMotoServer

ADDRESS, TABLE = sys.argv[1:]
OPERATIONS = ["CreateTable", "DescribeTable", "DeleteTable", "PutItem", "GetItem", "BatchWriteItem", "TagResource"]
# moto holds requests for tables against the resource `*` alone, so the policy's own resource is left out here.
POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": ["dynamodb:" + name for name in OPERATIONS], "Resource": "*"}],
}

server = ThreadedMotoServer(ADDRESS, 0, verbose=False)
server.start()
url = "http://%s:%d" % server.get_host_and_port()


def client(service):
    return boto3.client(
        service, endpoint_url=url, region_name="us-east-1", aws_access_key_id="root", aws_secret_access_key="root"
    )


client("dynamodb").create_table(
    TableName=TABLE,
    AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
    BillingMode="PAY_PER_REQUEST",
)
iam = client("iam")
keys = {}
for name in ["user", "stranger"]:
    iam.create_user(UserName=name)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    keys[name] = {"id": key["AccessKeyId"], "secret": key["SecretAccessKey"]}
iam.put_user_policy(UserName="user", PolicyName="throttlescope", PolicyDocument=json.dumps(POLICY))
asked = urllib.request.Request(url + "/moto-api/reset-auth", data=b"0", headers={"Content-Type": "text/plain"})
urllib.request.urlopen(asked).read()
print(json.dumps({"url": url, **keys}), flush=True)
sys.stdin.read()
