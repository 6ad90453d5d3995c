import t from 'tap'
import { isAtLeast, parseServerVersion, versionProblem } from '../../../src/dialects/mysql/server-version.ts'

const VERSIONS: Array<[text: string, product: string, numbers: number[], supported: boolean]> = [
  ['8.0.19', 'MySQL', [8, 0, 19], true],
  ['8.0.36-28', 'MySQL', [8, 0, 36], true],
  ['8.4.0', 'MySQL', [8, 4, 0], true],
  ['9.7.4-2', 'MySQL', [9, 7, 4], true],
  ['10.0.0', 'MySQL', [10, 0, 0], true],
  ['8.0.18', 'MySQL', [8, 0, 18], false],
  ['8.0.11-TiDB-v7.5.0', 'MySQL', [8, 0, 11], false],
  ['5.7.44-log', 'MySQL', [5, 7, 44], false],
  ['5.6.51', 'MySQL', [5, 6, 51], false],
  ['5.5.5', 'MySQL', [5, 5, 5], false],
  ['10.7.0-MariaDB', 'MariaDB', [10, 7, 0], true],
  ['10.11.18-MariaDB-0+deb12u1', 'MariaDB', [10, 11, 18], true],
  ['5.5.5-10.11.18-MariaDB-log', 'MariaDB', [10, 11, 18], true],
  ['11.4.2-MariaDB-ubu2404', 'MariaDB', [11, 4, 2], true],
  ['10.6.18-13-MariaDB-enterprise-log', 'MariaDB', [10, 6, 18], false],
  ['5.5.5-10.6.18-MariaDB', 'MariaDB', [10, 6, 18], false],
  ['5.5.68-MariaDB', 'MariaDB', [5, 5, 68], false],
  ['8.4', 'MySQL', [8, 4, 0], true],
  ['', 'MySQL', [0, 0, 0], false]
]

t.test('the version of a server is read, and the oldest supported ones are MySQL 8.0.19 and MariaDB 10.7', async (t) => {
  for (const [text, product, numbers, supported] of VERSIONS) {
    t.same(parseServerVersion(text), { product, numbers }, text)
    t.equal(versionProblem(text), supported ? undefined : `SERVER_TOO_OLD: ${product} ${numbers.join('.')}, the oldest supported versions are MySQL 8.0.19 and MariaDB 10.7`, text)
  }
})

t.test('versions are compared number by number', async (t) => {
  const version = parseServerVersion('11.5.2-MariaDB')
  for (const [oldest, expected] of [[[11, 5], true], [[11, 5, 2], true], [[11, 5, 3], false], [[11, 6], false], [[12], false], [[10, 99, 99], true]] as const) t.equal(isAtLeast(version, oldest), expected, oldest.join('.'))
})
