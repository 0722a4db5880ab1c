"""Topics of a collection of texts, by the randomized SVD of its matrix of documents and words, with slepc4py.

The texts are made up, so what is to be found is known: each document has a topic, and takes four words of five from the
tenth of the vocabulary that its topic prefers. SVDRANDOMIZED multiplies the sparse matrix and its transpose by whole
blocks of vectors, and by nothing else. It does so with each type of -types; singular values must agree, and documents
must be found under their topics.

    python3 topics.py -dll_append /path/to/libpetscaijtcu.so
    python3 topics.py -dll_append ... -documents 400000 -types aijcusparse,aijtcu -picture topics.png"""
import sys
import time
import slepc4py

slepc4py.init(sys.argv)
import numpy as np
import scipy.sparse
from petsc4py import PETSc
from slepc4py import SLEPc
from bracket import machine, matrix, write_table

options = PETSc.Options()
documents, words = options.getInt('documents', 20000), options.getInt('words', 4000)
topics, width, sweeps = 8, options.getInt('width', 64), options.getInt('sweeps', 6)
types = options.getString('types', 'aij,aijtcu').split(',')


def texts():
    """tf-idf of documents of 60 words, and the topic of each. Words are rare as in texts: the k-th one by 1 / k."""
    random = np.random.default_rng(1)
    topic = random.integers(topics, size=documents)
    rank = np.minimum(np.exp(random.random((documents, 60)) * np.log(words // topics)).astype(int) - 1, words // topics - 1)
    own = random.random((documents, 60)) < 0.8
    word = rank * topics + np.where(own, topic[:, None], random.integers(topics, size=(documents, 60)))
    counts = scipy.sparse.csr_matrix((np.ones(word.size), (np.repeat(np.arange(documents), 60), word.ravel())), (documents, words))
    counts.sum_duplicates()
    frequency = np.bincount(counts.indices, minlength=words)
    counts.data = np.log1p(counts.data) * np.log(documents / np.maximum(frequency, 1))[counts.indices]
    counts.sort_indices()
    return counts, topic


def solve(A):
    svd = SLEPc.SVD().create(PETSc.COMM_SELF)
    svd.setOperator(A)
    svd.setType('randomized')
    svd.setDimensions(width // 2, width)
    svd.setTolerances(1e-9, sweeps)
    svd.setConvergenceTest(SLEPc.SVD.Conv.MAXIT)
    svd.setFromOptions()
    start = time.perf_counter()
    svd.setUp()
    setup = time.perf_counter() - start
    start = time.perf_counter()
    svd.solve()
    return svd, setup, time.perf_counter() - start


collection, topic = texts()
print('%d documents, %d words, %d entries; %d vectors, %d sweeps' % (documents, words, collection.nnz, width, sweeps))
rows, first = [], None
for kind in types:
    solve(matrix(collection[:500], kind, 1))  # what the first use of a GPU takes is no part of it
    A = matrix(collection, kind, 1)
    svd, setup, seconds = solve(A)
    values = np.array([svd.getValue(i) for i in range(topics + 1)])
    u, v = A.createVecLeft(), A.createVecRight()
    left = np.empty((documents, topics))
    for i in range(topics):
        svd.getSingularTriplet(i, u, v)
        left[:, i] = u.getArray() * values[i]
    u = A.createVecLeft()
    svd.getSingularTriplet(0, u, v)
    product = A.createVecLeft()
    A.mult(v, product)
    product.axpy(-values[0], u)
    residual = product.norm() / values[0]
    first = values if first is None else first
    difference = abs(values / first - 1).max()
    # A document lies where its topic lies: the nearest of the topics' means
    place = left / np.maximum(np.linalg.norm(left, axis=1), 1e-300)[:, None]
    means = np.array([place[topic == t].mean(axis=0) for t in range(topics)])
    found = (place @ means.T).argmax(axis=1)
    right = (found == topic).mean()
    print('%-20s set-up %.3f s, solve %8.3f s, residual of the first %.0e, %.1f %% of the documents under their topic' % (A.getType(), setup, seconds, residual, 100 * right))
    assert residual < 1e-3 and difference < 1e-6 and right > 0.9, (residual, difference, right)
    rows.append({'program': 'topics', 'rows': documents, 'nonzeros': collection.nnz, 'columns': width, 'solver': 'randomized svd', 'type': A.getType(), 'way': '%d sweeps' % sweeps,
                 'setup_s': '%.4e' % setup, 'solve_s': '%.4e' % seconds,
                 'residual': '%.1e' % residual, 'difference': '%.1e' % difference, **machine()})
if documents <= 20000:
    from scipy.sparse.linalg import svds

    other = np.sort(svds(collection, topics, return_singular_vectors=False))[::-1]
    print('largest difference to SciPy: %.0e' % abs(values[:topics] / other - 1).max())
    assert abs(values[:topics] / other - 1).max() < 1e-4
write_table(options.getString('csv', ''), rows)

if options.hasName('picture'):
    import matplotlib

    matplotlib.use('Agg')
    from matplotlib import pyplot

    some = np.random.default_rng(2).choice(documents, 3000, replace=False)
    figure = pyplot.figure(figsize=(13, 4))
    for panel, (i, j) in enumerate(((1, 2), (3, 4), (5, 6))):
        axes = figure.add_subplot(1, 3, panel + 1)
        axes.scatter(left[some, i], left[some, j], c=topic[some], cmap='tab10', s=2)
        axes.set(xlabel='singular vector %d' % (i + 1), ylabel='singular vector %d' % (j + 1))
    figure.suptitle('%d of %d documents, coloured by their topic' % (len(some), documents))
    figure.tight_layout()
    figure.savefig(options.getString('picture'), dpi=90)
