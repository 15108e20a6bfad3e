import pytest

from holdstill.ranking import compiled, kernels


@pytest.fixture(scope="module", params=["numpy", "kernels"])
def path(request):
    """Each test that uses it runs on numpy and on the compiled kernels, however few the rows."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled, "kernels", lambda rows: kernels if request.param == "kernels" else None)
        yield
