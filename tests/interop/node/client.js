// A client of RocketMQ's in Node, as a user would write it, for test_other_clients.py; ../go/main.go is the same in Go.
//
//   node client.js produce NAMESRV TOPIC             sends each line of standard input, TAG BODY; prints how it was taken
//   node client.js consume NAMESRV TOPIC GROUP TAG   prints queue and body of each message until standard input ends
'use strict';

const readline = require('node:readline');
const { Consumer, Message, Producer } = require('ali-ons');

const [kind, nameSrv, topic, group, tag] = process.argv.slice(2);
const silent = () => {};
const logger = { debug: silent, info: silent, warn: console.error, error: console.error };
// With an address of its own it asks nobody by HTTP where name servers are.
const httpclient = { request: () => Promise.reject(new Error('nobody is to be asked')) };
const options = { nameSrv, httpclient, logger };

async function produce() {
  const producer = new Producer({ ...options, producerGroup: 'node-producers' });
  await producer.ready();
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const [label, body] = line.split(' ');
    const message = new Message(topic, label, body);
    message.keys = [body];
    const { sendStatus, messageQueue, queueOffset } = await producer.send(message);
    console.log(sendStatus, messageQueue.queueId, String(queueOffset));
  }
  await producer.close();
}

async function consume() {
  const consumer = new Consumer({
    ...options,
    consumerGroup: group,
    consumeFromWhere: 'CONSUME_FROM_FIRST_OFFSET',
    // It does not listen when it is told that its group has changed, and looks by itself.
    rebalanceInterval: 1000,
  });
  consumer.on('error', error => console.error(error.message));
  consumer.subscribe(topic, tag, async message => console.log(message.queueId, message.body.toString()));
  await consumer.ready();
  for await (const _ of process.stdin);
  await consumer.close();
}

(kind === 'produce' ? produce() : consume()).then(
  () => process.exit(0),
  error => {
    console.error(error);
    process.exit(1);
  },
);
