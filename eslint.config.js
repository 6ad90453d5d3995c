import neostandard from 'neostandard'

export default neostandard({
  ts: true,
  filesTs: ['page/*.tsx'],
  ignores: ['dist', 'coverage', '.tap', '.cache']
})
