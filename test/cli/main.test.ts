import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Linter } from 'eslint'
import t from 'tap'
import { COMMANDS, describeCommand, describeProgram, type CommandName } from '../../src/cli/commands.ts'
import { runRowQuery } from '../support/row-query.ts'

const MAIN = new URL('../../src/cli/main.ts', import.meta.url)
const { version, engines } = createRequire(import.meta.url)('../../package.json')

const printed: Array<[args: string[], text: string]> = [
  [[], describeProgram()],
  [['token', '--name', 'x', '-h'], describeCommand('token')],
  [['help', 'check'], describeCommand('check')],
  [['nothing', '--help'], describeProgram()],
  [['--version'], `${version}\n`]
]

for (const [args, text] of printed) {
  t.test(`row-query ${args.join(' ')} prints the help, or the version`, async (t) => {
    t.same(await runRowQuery(t, args), { code: 0, stdout: text, stderr: '' })
  })
}

t.test('the help names each command, flag and variable', async (t) => {
  for (const name of Object.keys(COMMANDS) as CommandName[]) {
    t.match(describeProgram(), `\n  row-query ${name} `)
    for (const flag of Object.keys(COMMANDS[name].flags)) t.match(describeCommand(name), new RegExp(`^  --${flag} .*\\w`, 'm'))
  }
  for (const variable of ['DATABASE_URL', 'API_TOKEN', 'API_TOKEN_PERMISSIONS', 'API_TOKENS_FILE', 'ROW_QUERY_CONFIG', 'HOST', 'PORT', 'LOG_LEVEL', 'PATH_PREFIX', 'HTTPS_CERT', 'HTTPS_KEY']) {
    t.match(describeCommand('serve'), new RegExp(`\\b${variable}\\b`))
  }
})

/** Starts `row-query --version` in a process that says it is this version of Node. */
const pretend = (node: string): string[] => {
  const preload = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${node}' } })`
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(preload)}`, MAIN.pathname]
}

t.test('an old version of Node is refused in one line, and the oldest that the package allows is not', async (t) => {
  const [, major, minor] = /^>=(\d+)\.(\d+)$/.exec(engines.node) as RegExpExecArray
  for (const node of [`${major}.${Number(minor) - 1}.9`, '9.0.0']) {
    const stderr = `row-query: Node ${major}.${minor} or later is required; this is Node ${node} (${process.execPath})\n`
    t.same(await runRowQuery(t, ['--version'], { command: pretend(node) }), { code: 2, stdout: '', stderr })
  }
  t.match(await runRowQuery(t, ['--version'], { command: pretend(`${major}.${minor}.0`) }), { code: 0, stdout: version })
})

t.test('the file of the program has the syntax of a script for Node 14, without imports, so that an old Node can run it', async (t) => {
  const findErrors = (text: string) => new Linter().verify(text, { languageOptions: { ecmaVersion: 2020, sourceType: 'script' } })
  t.same(findErrors(readFileSync(MAIN, 'utf8')), [])
  for (const wrong of ["import 'node:fs'", "await import('x')", 'a ??= b']) t.match(findErrors(wrong), [{ fatal: true }], wrong)
})

const refused: Array<{ args: string[], line: RegExp }> = [
  { args: ['start'], line: /^row-query: "start" is not a command; the commands are serve, token, check, health, openapi, types, mcp, export, keys\n$/ },
  { args: ['constructor'], line: /^row-query: "constructor" is not a command/ },
  { args: ['serve', '--prot', '80'], line: /^row-query: --prot: is not a flag of serve; the flags are --config, --host, --port, --log-format\n$/ },
  { args: ['serve', '--port'], line: /^row-query: Option '--port <value>' argument missing\n$/ },
  { args: ['serve', 'now'], line: /^row-query: Unexpected argument 'now'[^\n]*\n$/ },
  { args: ['check', '--host', 'x'], line: /^row-query: --host: is not a flag of check; the flags are --config, --strict\n$/ },
  { args: ['token', '--permission', 'select', '--nam=x'], line: /^row-query: --permission: is not a flag of token; did you mean --permissions\?\nrow-query: --nam: is not a flag of token; did you mean --name\?\n$/ }
]

for (const { args, line } of refused) {
  t.test(`row-query ${args.join(' ')} is refused in one line`, async (t) => {
    const { code, stdout, stderr } = await runRowQuery(t, args)
    t.same({ code, stdout }, { code: 2, stdout: '' })
    t.match(stderr, line)
  })
}

t.test('an unexpected error is printed with its stack', async (t) => {
  const { code, stderr } = await runRowQuery(t, ['serve'], { cwd: t.testdir({ data: 'a file where the folder must be' }) })
  t.equal(code, 1)
  t.match(stderr, /EEXIST[^]*\n {4}at /)
})
