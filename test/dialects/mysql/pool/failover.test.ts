import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createFailover, type Failover } from '../../../../src/dialects/mysql/pool/failover.ts'

const create = (...names: string[]): Failover => createFailover(names.map((host) => ({ host, port: 3306 })))
const failing = (hosts: Failover): string => {
  hosts.fail(hosts.current)
  return hosts.current.host
}
const refusing = (hosts: Failover): string | false => hosts.refuse(hosts.epoch) && hosts.current.host

t.test('the first host is used until it fails, then the next one, cyclically', async (t) => {
  const hosts = create('a', 'b', 'c')
  t.equal(hosts.current.host, 'a')
  t.same([failing(hosts), failing(hosts), failing(hosts)], ['b', 'c', 'a'])
})

t.test('several simultaneous failures of a host count once', async (t) => {
  const hosts = create('a', 'b', 'c')
  const { current, epoch } = hosts
  hosts.fail(current)
  hosts.fail(current)
  t.equal(hosts.current.host, 'b')
  t.equal(hosts.epoch, epoch + 1, 'what was opened before is of the past')
})

t.test('a single host stays current when it fails, and its sessions stay valid', async (t) => {
  const hosts = create('a')
  const { epoch } = hosts
  t.equal(failing(hosts), 'a')
  t.equal(hosts.epoch, epoch)
})

t.test('after a refusal, a host that has not refused recently is used', async (t) => {
  const hosts = create('a', 'b', 'c')
  t.same([refusing(hosts), refusing(hosts), refusing(hosts), refusing(hosts)], ['b', 'c', 'c', false])
  await sleep(250)
  t.equal(refusing(hosts), 'a', 'they are asked again later')
})

t.test('after refusals of a single host, sessions are reopened at an interval, because its address may lead to another server', async (t) => {
  const hosts = create('a')
  const { epoch } = hosts
  t.same([refusing(hosts), refusing(hosts)], ['a', false])
  t.equal(hosts.epoch, epoch + 1)
})

t.test('a refused session of an earlier epoch is replaced by one of the current epoch', async (t) => {
  const hosts = create('a')
  const { epoch } = hosts
  t.ok(hosts.refuse(epoch))
  t.ok(hosts.refuse(epoch))
  t.equal(hosts.epoch, epoch + 1, 'and nothing changes by it')
})

t.test('a host that refused before the clock was set back rested until the clock had caught up', async (t) => {
  const { now } = Date
  t.teardown(() => { Date.now = now })
  const hosts = create('a')
  t.equal(refusing(hosts), 'a')
  Date.now = () => now() - 3_600_000
  await sleep(250)
  t.equal(refusing(hosts), 'a')
})
