// What an application does with a lease through ioredis: node lease.js SOCKET STEP. Exits with 0, or says what
// was not as it should be. Replies are flat arrays of keys and values, as RESP2 has no maps.
'use strict';
const assert = require('assert');
const Redis = require('ioredis');

const [path, step] = process.argv.slice(2);
const redis = new Redis({ path, retryStrategy: () => 100 });
redis.on('error', (error) => console.error('error:', error.message));

const lease = async (...words) => {
  const flat = await redis.call('LEASE', ...words);
  const map = {};
  for (let i = 0; i < flat.length; i += 2) map[flat[i]] = flat[i + 1];
  return map;
};
const name = `io-${step}`;
const acquire = async (ttl = '2s') => {
  const reply = await lease('ACQUIRE', name, 'TTL', ttl, 'HOLDER', 'io', 'WAIT', '5s');
  assert.strictEqual(reply.status, 'granted');
  return reply;
};

const steps = {
  async ready() {
    await new Promise((resolve) => (redis.status === 'ready' ? resolve() : redis.once('ready', resolve)));
    assert.strictEqual(await redis.ping(), 'PONG');
  },
  async acquire() {
    const reply = await acquire();
    assert(Number.isSafeInteger(reply.token) && reply.token > 0);
    assert(reply['until-ns'] > 0);
  },
  async 'held-elsewhere'() {
    await acquire();
    const reply = await lease('ACQUIRE', name, 'TTL', '1s', 'HOLDER', 'other');
    assert.strictEqual(reply.status, 'held');
    assert.strictEqual(reply.holder, 'io');
  },
  async renew() {
    const { token } = await acquire('1s');
    const reply = await lease('RENEW', name, token, 'io', 'TTL', '3s');
    assert.strictEqual(reply.status, 'granted');
    assert.strictEqual(reply.token, token);
  },
  async list() {
    await acquire();
    const [, leases] = await redis.call('LEASE', 'LIST', 'PREFIX', name);
    assert(leases[0].includes(name));
  },
  async get() {
    const { token } = await acquire();
    assert.strictEqual((await lease('GET', name)).token, token);
  },
  async refused() {
    await assert.rejects(redis.set('a', 'b'), /this is Leasehold, not Redis/);
    await assert.rejects(redis.get('a'), /unknown command/);
    await assert.rejects(redis.call('LEASE', 'ACQUIRE', ''), /BADNAME/);
    await assert.rejects(redis.call('LEASE', 'ACQUIRE', 'x', 'TTL', '1y'), /BADTTL/);
    assert.strictEqual(await redis.ping(), 'PONG');
  },
  async pipeline() {
    const pipeline = redis.pipeline();
    for (let i = 0; i < 500; i++) pipeline.call('LEASE', 'ACQUIRE', `${name}-${i}`, 'TTL', '2s');
    const replies = await pipeline.exec();
    assert.strictEqual(replies.filter(([error, reply]) => !error && reply[1] === 'granted').length, 500);
  },
  async subscribe() {
    const watcher = new Redis({ path });
    const seen = [];
    const told = new Promise((resolve) => {
      watcher.on('message', (channel, text) => {
        seen.push(JSON.parse(text));
        if (seen.length === 3) resolve();
      });
    });
    await watcher.subscribe(`lease:${name}`);
    while (seen.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    const { token } = await acquire();
    while (seen.length === 1) await new Promise((resolve) => setTimeout(resolve, 10));
    assert.strictEqual((await lease('RELEASE', name, token, 'io')).status, 'released');
    await told;
    watcher.disconnect();
    assert.deepStrictEqual(seen.map(({ seq }) => seq), [1, 2, 3]);
    assert.deepStrictEqual(seen.map(({ state }) => state), ['free', 'held', 'free']);
    assert.strictEqual(seen[1].token, token);
  },
  async release() {
    const { token } = await acquire();
    assert.strictEqual((await lease('RELEASE', name, token, 'io')).status, 'released');
    assert.strictEqual((await lease('RELEASE', name, token, 'io')).status, 'lost');
  },
  async reconnect() {
    const { token } = await acquire('3s');
    redis.disconnect(true); // and connect anew
    await new Promise((resolve) => redis.once('ready', resolve));
    assert.strictEqual((await lease('RENEW', name, token, 'io', 'TTL', '3s')).status, 'granted');
  },
};

steps[step]()
  .then(() => process.exit(0))
  .catch((error) => {
    console.error(error);
    process.exit(1);
  });
