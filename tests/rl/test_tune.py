def test_grid_of_trials_and_restore(cartpole, tmp_path):
    from ray import tune

    config = cartpole.training(
        lr=tune.grid_search([1e-3, 1e-2]), optimizer_name="adam", optimizer_kwargs={}
    )

    def fit(tuner):
        results = tuner.fit()
        assert not results.errors
        return results

    results = fit(
        tune.Tuner(
            config.algo_class,
            param_space=config,
            run_config=tune.RunConfig(
                name="grid",
                storage_path=str(tmp_path),
                stop={"training_iteration": 2},
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=True),
                verbose=0,
            ),
        )
    )
    assert sorted(r.config["lr"] for r in results) == [1e-3, 1e-2]
    for result in results:
        assert result.metrics["training_iteration"] == 2
        assert result.metrics["frames"]["trained"] == 40
        assert (tmp_path / "grid").exists()
        algo = config.algo_class.from_checkpoint(result.checkpoint.path)
        assert algo.frames()["trained"] == 40
        assert algo.train()["frames"]["trained"] == 60
        algo.stop()

    again = tune.Tuner.restore(str(tmp_path / "grid"), config.algo_class)
    assert {r.metrics["frames"]["trained"] for r in fit(again)} == {40}
