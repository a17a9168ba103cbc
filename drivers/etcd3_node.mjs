// npm's etcd3 under `picklock try etcd`: takes a lock again and again, and says to the witness when it is in.
//
//   npm install etcd3
//   picklock try etcd -- node drivers/etcd3_node.mjs
import net from 'node:net'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Etcd3 } from 'etcd3'

const leaseMs = Number(process.env.PICKLOCK_LEASE_MS)
const [host, port] = process.env.PICKLOCK_WITNESS.split(':')
const socket = net.connect(Number(port), host)
const answers = createInterface({ input: socket })[Symbol.asyncIterator]()
// Says it, and waits until it was heard.
const say = async line => { socket.write(line + '\n'); return (await answers.next()).value }

const members = process.env.PICKLOCK_ETCD.split(',').map(address => `http://${address}`)
const client = new Etcd3({ hosts: members, defaultCallOptions: () => ({ deadline: Date.now() + 5000 }) })

while (await say('want orders') === 'ok') {
  // It keeps its lease alive by itself until it is given back. It has no word for a lock that is lost.
  const lock = client.lock('orders').ttl(leaseMs / 1000)
  try {
    await lock.acquire()
  } catch {
    await sleep(20 + Math.random() * 20)
    continue
  }
  await say('enter orders')
  await sleep(leaseMs * (0.1 + Math.random() * 1.4))
  await say('write orders') // this lock has no token that the write could carry
  await say('leave orders')
  await lock.release().catch(() => {})
}
process.exit(0)
