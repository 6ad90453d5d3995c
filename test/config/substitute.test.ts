import { execFileSync } from 'node:child_process'
import { truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { substitute } from '../../src/config/substitute.ts'

/** ESLint takes a string with a reference for a template, so § stands for $ here. */
const reference = (text: string): string => text.replaceAll('§', '$')

const SECRET = reference('hunter2"\\ and so on: §{HOME}')
const folder = t.testdir({ secret: `${SECRET}\n`, crlf: 'a\r\n', two: 'a\n\n', empty: '', newline: '\n', folder: {} })
writeFileSync(join(folder, 'latin1'), Buffer.from('caf\xe9', 'latin1'))
writeFileSync(join(folder, 'largest'), 'x'.repeat(1_048_576))
writeFileSync(join(folder, 'large'), '')
truncateSync(join(folder, 'large'), 1_000_000_000)
execFileSync('mkfifo', [join(folder, 'fifo')])

const env = { NAME: 'Ada', SECRET, EMPTY: '' }

/** What becomes of one string. */
function replaced (text: string): string {
  const file = { setting: [reference(text)] }
  return [...substitute(file, env).values()][0] ?? file.setting[0] as string
}

const replacedBy: Array<[text: string, result: string]> = [
  ['plain', 'plain'],
  ['§{NAME}', 'Ada'],
  ['a §{NAME} and §{NAME}', 'a Ada and Ada'],
  ['§{SECRET}', SECRET],
  [`§{file:${folder}/secret}`, SECRET],
  [`§{file:${folder}/crlf}`, 'a'],
  [`§{file:${folder}/two}`, 'a\n'],
  ['§§{NAME}', '§{NAME}'],
  ['$$$ $NAME $1 $& $', '$$$ $NAME $1 $& $'],
  ['§§{ §{NAME} }', '§{ Ada }']
]

t.test('references are replaced by variables and files', async (t) => {
  for (const [text, result] of replacedBy) t.equal(replaced(text), reference(result), text)
  t.equal(replaced(`§{file:${folder}/largest}`).length, 1_048_576)
})

const form = reference('setting.0: after §{, the name of a variable or file:path and a closing brace are required; write §§{ for the characters §{')
const broken: Array<[text: string, error: string]> = [
  ['§{NOPE}', 'setting.0: the variable NOPE is not set'],
  ['§{constructor}', 'setting.0: the variable constructor is not set'],
  ['§{EMPTY}', 'setting.0: the variable EMPTY is empty'],
  ...['§{', '§{}', '§{NAME', '§{NAME:-x}', '§{ NAME }', '§{file:}', '§{1}', '§{💥}', '§{§{NAME}}'].map((text): [string, string] => [text, form]),
  ...[
    ['nowhere', 'cannot be read (ENOENT)'],
    ['folder', 'is not a regular file'],
    ['fifo', 'is not a regular file'],
    ['large', 'is larger than 1 MiB'],
    ['empty', 'is empty'],
    ['newline', 'is empty'],
    ['latin1', 'is not UTF-8 text']
  ].map(([name, reason]): [string, string] => [`§{file:${folder}/${name}}`, `setting.0: the file ${folder}/${name} ${reason}`]),
  ['§{file:/dev/zero}', 'setting.0: the file /dev/zero is not a regular file']
]

t.test('a reference that cannot be replaced is an error of the setting', async (t) => {
  for (const [text, error] of broken) t.equal(replaced(text), error, text)
})

t.test('only strings are replaced, not keys', async (t) => {
  const file = JSON.parse(reference('{"§{NAME}": {"a": [1, true, null, "§{NAME}"], "__proto__": "§{NAME}"}}'))
  t.same([...substitute(file, env)], [])
  t.equal(JSON.stringify(file), reference('{"§{NAME}":{"a":[1,true,null,"Ada"],"__proto__":"Ada"}}'))
})

t.test('the configuration has the values, and errors name the setting once and no value', async (t) => {
  const load = (file: object, variables = {}) => {
    writeFileSync(join(folder, 'row-query.json'), reference(JSON.stringify(file)))
    return loadConfig({ ...variables, ROW_QUERY_SERVICE_HOST: 'db' }, { config: join(folder, 'row-query.json') })
  }
  const { config } = load({ databases: { shop: { url: 'mysql://shop:§{PASSWORD}@§{ROW_QUERY_SERVICE_HOST}/shop' } } }, { PASSWORD: 'a%22b' })
  t.same(config.databases, { shop: { url: 'mysql://shop:a%22b@db/shop' } })

  const file = { databases: { shop: { url: '§{file:nowhere}' } }, tokens: [{ name: 'x', sha256: '§{HASH}', permissions: ['select'] }], docs: '§{SECRET}' }
  t.throws(() => load(file, { SECRET }), new ConfigError([
    'databases.shop.url: the file nowhere cannot be read (ENOENT)',
    'tokens.0.sha256: the variable HASH is not set',
    'docs: must be true or false (whether an HTML page shows and changes rows)'
  ]))
})
