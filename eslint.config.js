import neostandard from 'neostandard'

/** Texts and SQL are read as they are sent. */
const ignore = { ignoreTemplateLiterals: true, ignoreRegExpLiterals: true }

export default [
  ...neostandard({
    ts: true,
    filesTs: ['page/*.tsx'],
    ignores: ['dist', 'coverage', '.tap', '.cache']
  }),
  {
    files: ['src/**', 'plugins/**', 'schemas/**', 'test/**'],
    // @ts-expect-error stands before one line
    ignores: ['test/clients/programs/**'],
    rules: { '@stylistic/max-len': ['error', { code: 120, ...ignore }] }
  }
]
