import t from 'tap'
import { runRowQuery } from '../support/row-query.ts'

for (const args of [[], ['help'], ['--help'], ['-h'], ['serve', '--help'], ['token', '--name', 'x', '-h']]) {
  t.test(`row-query ${args.join(' ')} prints the help`, async (t) => {
    const { code, stdout, stderr } = await runRowQuery(t, args)
    t.same({ code, stderr }, { code: 0, stderr: '' })
    for (const command of ['serve', 'token', 'check', 'openapi', 'types']) t.match(stdout, `\n  row-query ${command} `)
    for (const variable of ['DATABASE_URL', 'API_TOKEN', 'API_TOKEN_PERMISSIONS', 'API_TOKENS_FILE', 'ROW_QUERY_CONFIG', 'HOST', 'PORT', 'LOG_LEVEL', 'PATH_PREFIX', 'HTTPS_CERT', 'HTTPS_KEY']) {
      t.match(stdout, new RegExp(`\\b${variable}\\b`))
    }
  })
}

const refused: Array<{ args: string[], line: RegExp }> = [
  { args: ['start'], line: /^row-query: "start" is not a command; the commands are serve, token, check, openapi, keys, types\n$/ },
  { args: ['constructor'], line: /^row-query: "constructor" is not a command/ },
  { args: ['serve', '--prot', '80'], line: /^row-query: Unknown option '--prot'[^\n]*\n$/ },
  { args: ['serve', '--port'], line: /^row-query: Option '--port <value>' argument missing\n$/ },
  { args: ['serve', 'now'], line: /^row-query: Unexpected argument 'now'[^\n]*\n$/ },
  { args: ['check', '--host', 'x'], line: /^row-query: Unknown option '--host'[^\n]*\n$/ },
  { args: ['token', '--secret'], line: /^row-query: Unknown option '--secret'[^\n]*\n$/ }
]

for (const { args, line } of refused) {
  t.test(`row-query ${args.join(' ')} is refused in one line`, async (t) => {
    const { code, stdout, stderr } = await runRowQuery(t, args)
    t.same({ code, stdout }, { code: 2, stdout: '' })
    t.match(stderr, line)
  })
}

t.test('an unexpected error is printed with its stack', async (t) => {
  const { code, stderr } = await runRowQuery(t, ['serve'], { cwd: t.testdir({ data: 'a file where the folder must be' }), isMeasured: true })
  t.equal(code, 1)
  t.match(stderr, /EEXIST[^]*\n {4}at /)
})
