import neostandard from 'neostandard'

export default [
  ...neostandard({
    ts: true,
    filesTs: ['page/*.tsx'],
    ignores: ['dist', 'coverage', '.tap', '.cache']
  }),
  {
    files: ['src/**', 'plugins/**', 'schemas/**', 'test/**'],
    rules: { '@stylistic/max-len': ['error', { code: 120 }] }
  }
]
